import { type Stats, statSync } from 'node:fs'

/** Two changes within this time may leave the same time behind: the clock of a file system advances in steps. */
const STEP_MS = 100
/** The same where times are whole seconds. */
const COARSE_STEP_MS = 3_000

/**
 * Whether an entry of a folder may have been made, removed or replaced since somebody looked. It goes by the folder's
 * change time, which, unlike the other times, nobody can set back: copying a backup with its times does not hide it.
 */
export class FolderEntries {
  readonly #path: string
  #accepted: Stats | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Call it before looking at an entry, and `accept` if the entry is as it should be. */
  look(): { readonly mayDiffer: boolean; accept(): void } {
    const now = statsOf(this.#path)
    return {
      mayDiffer: now === undefined || this.#accepted === undefined || !isSame(now, this.#accepted),
      accept: () => {
        this.#accepted = now !== undefined && hasSettled(now) ? now : undefined
      },
    }
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.ctimeMs === other.ctimeMs && one.ino === other.ino && one.dev === other.dev

/** Whether any later change leaves another time behind. A time in the future says nothing. */
function hasSettled({ ctimeMs }: Stats): boolean {
  const age = Date.now() - ctimeMs
  return age > (Number.isInteger(ctimeMs / 1_000) ? COARSE_STEP_MS : STEP_MS)
}
