const WIDTH = 30

/** '█████░░░░░  50 %'. */
export function progressBar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
  const percent = Math.floor(Math.min(1, Math.max(0, share)) * 100)
  return `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${String(percent).padStart(3)} %`
}
