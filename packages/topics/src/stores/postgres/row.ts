/** All values as the text that the server sent. */
export type Row = Record<string, string | null>
