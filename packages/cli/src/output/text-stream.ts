export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The part of standard output and standard error that is needed. */
export type TextStream = { write(text: string): unknown; readonly isTTY?: boolean }
