/** A genome as a strip with a bar per byte: similar strips are similar genomes. */
export function Genome({ base64 }: { base64: string }) {
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
  if (bytes.length === 0) return null
  const text = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(' ')
  return (
    <svg
      class="genome"
      viewBox={`0 0 ${bytes.length * 10} 24`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Genome of ${bytes.length} bytes: ${text}`}
    >
      <title>{text}</title>
      {Array.from(bytes, (byte, place) => (
        <rect
          key={place}
          x={place * 10}
          y={0}
          width={9}
          height={24}
          fill={`hsl(${Math.round((byte / 256) * 300)} 55% 55%)`}
        />
      ))}
    </svg>
  )
}
