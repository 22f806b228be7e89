/** All values as the text the server sent. */
export type Row = Record<string, string | null>
