/** A cell of the shown plane, or a point on the canvas. */
export type Spot = { readonly x: number; readonly y: number }
