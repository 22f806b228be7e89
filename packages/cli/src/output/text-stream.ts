export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** What is needed of standard output and standard error. */
export type TextStream = { write(text: string): unknown; readonly isTTY?: boolean }
