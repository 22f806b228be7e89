import { query, replaceQuery } from '../address.ts'
import { fixText, type PlaneChoice } from './plane.ts'

const NAMES = ['x', 'y', 'z', 'w']
const nameOf = (axis: number): string => NAMES[axis] ?? `axis ${axis}`

/** For a world of more than two dimensions: which two are shown, and the position in the others. */
export function PlanePicker({ shape, plane }: { shape: readonly number[]; plane: PlaneChoice }) {
  if (shape.length <= 2 || plane.y === undefined) return null
  const { x, y, fixed } = plane
  const choose = (changed: { x?: number; y?: number }): void => {
    const next = { x, y, ...changed }
    // Choosing the other one's axis swaps them.
    if (next.x === next.y) Object.assign(next, changed.x === undefined ? { x: y } : { y: x })
    replaceQuery({ plane: `${next.x},${next.y}`, fix: fixText({ ...next, fixed }), at: null })
  }
  return (
    <fieldset class="plane row panel">
      <legend class="offscreen">Plane</legend>
      <Axis shape={shape} label="across" value={x} set={axis => choose({ x: axis })} />
      <Axis shape={shape} label="down" value={y} set={axis => choose({ y: axis })} />
      {shape.map((length, axis) =>
        axis === x || axis === y ? null : (
          <label key={nameOf(axis)} class="row">
            <span class="muted">{nameOf(axis)}</span>
            <input
              type="range"
              min={0}
              max={length - 1}
              value={fixed[axis] ?? 0}
              onInput={event => {
                const next = fixed.map((value, each) => (each === axis ? Number(event.currentTarget.value) : value))
                replaceQuery({ fix: fixText({ x, y, fixed: next }), plane: query.peek().get('plane') ?? `${x},${y}` })
              }}
            />
            <output class="mono">{fixed[axis] ?? 0}</output>
          </label>
        ),
      )}
    </fieldset>
  )
}

function Axis({
  shape,
  label,
  value,
  set,
}: {
  shape: readonly number[]
  label: string
  value: number
  set(axis: number): void
}) {
  return (
    <label class="row">
      <span class="muted">{label}</span>
      <select value={String(value)} onChange={event => set(Number(event.currentTarget.value))}>
        {shape.map((length, axis) => (
          <option key={nameOf(axis)} value={String(axis)}>
            {nameOf(axis)} ({length})
          </option>
        ))}
      </select>
    </label>
  )
}
