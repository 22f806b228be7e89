import type { PipelineStatus } from '../services/service-shapes.ts'

/** What nodes show beside their rate. */
export type NodeFigures = {
  /** Last tick of each simulation. */
  readonly ticks: ReadonlyMap<string, number>
  /** Bytes of each storage and index. */
  readonly sizes: ReadonlyMap<string, number>
}

export const NO_FIGURES: NodeFigures = { ticks: new Map(), sizes: new Map() }

export const figuresOf = ({ services, disk }: PipelineStatus): NodeFigures => ({
  ticks: new Map(
    services.flatMap(({ name, speed, metrics: { tick } }) =>
      speed === null || speed === undefined || tick === undefined ? [] : [[`service:${name}`, tick]],
    ),
  ),
  sizes: new Map(disk.parts.map(({ kind, name, bytes }) => [`${kind}:${name}`, bytes])),
})
