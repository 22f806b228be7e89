/** Colours of the theme as a canvas takes them: custom properties come as they were written, `light-dark(…)` and all. */
export function colourOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
