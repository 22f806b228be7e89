/** A cell of the plane that is seen, or a point on the canvas. */
export type Spot = { readonly x: number; readonly y: number }
