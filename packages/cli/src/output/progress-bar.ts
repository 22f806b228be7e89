const WIDTH = 30

/** '█████░░░░░  50 %'. */
export function progressBar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
  const percent = Math.floor(Math.min(1, Math.max(0, share)) * 100)
  return `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${String(percent).padStart(3)} %`
}

/** Draws over what it drew before. No wrapping meanwhile: a line that took two would not be drawn over. */
export class Redrawn {
  #drawn = 0

  draw(lines: readonly string[]): void {
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : ''
    process.stdout.write(`\x1b[?7l${up}${lines.map(line => `\x1b[2K${line}`).join('\n')}\n\x1b[J\x1b[?7h`)
    this.#drawn = lines.length
  }
}
