/** Redraws over its previous output. */
export class Screen {
  #drawn = 0

  draw(lines: readonly string[]): void {
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : ''
    // Without line wrapping: a line that took two could not be drawn over.
    process.stdout.write(`\x1b[?7l${up}${lines.map(line => `\x1b[2K${line}`).join('\n')}\n\x1b[J\x1b[?7h`)
    this.#drawn = lines.length
  }
}
