/** Rows of a world of one dimension: time runs downwards, the newest tick is the last row. */
export const ROWS = 160
