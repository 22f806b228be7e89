/** A page of browsing reads no more messages than this, however few match. */
export const MOST_BROWSED = 100_000
/** And in steps of this many, so that neither the event loop nor the server is held for long. */
export const BROWSE_STEP = 10_000
