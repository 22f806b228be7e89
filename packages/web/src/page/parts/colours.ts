/**
 * Colours of the theme in a form that a canvas accepts: custom properties are returned as written, including
 * `light-dark(…)`.
 */
export function colourOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
