import { setTimeout as delay } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { GroupDescription, Tidemark } from 'tidemark'
import type { GroupProcess } from './group-process.ts'

const FRAME_MS = 150
const BAR = 24

/** Redraws one screen on a terminal; elsewhere it prints a line per event and the result. */
export class Screen {
  /** Every group has settled every message, and none is dead. */
  ok = false
  readonly #tm: Tidemark
  readonly #groups: readonly GroupProcess[]
  readonly #events: string[] = []
  readonly #live = process.stdout.isTTY
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout
  #drawing: Promise<void> = Promise.resolve()
  #drawn = 0

  constructor(tm: Tidemark, groups: readonly GroupProcess[]) {
    this.#tm = tm
    this.#groups = groups
    this.#timer = setInterval(() => this.#refresh(), this.#live ? FRAME_MS : 2_000)
    this.#timer.unref()
  }

  say(text: string): void {
    const line = `${this.#seconds()}  ${text}`
    this.#events.push(line)
    if (!this.#live) console.log(line)
  }

  /** Waits until every group has settled everything. */
  async untilDrained(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { groups } = await this.#tm.admin.describeTopic('orders')
      const open = groups.reduce((sum, group) => sum + group.backlog + group.inFlight + group.retries, 0)
      if (open === 0 || signal.aborted) return
      await delay(50, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Says what happened, once nobody works any more. */
  async conclude(): Promise<void> {
    const { messagesPublished: published, groups } = await this.#tm.admin.describeTopic('orders')
    const dead = groups.reduce((sum, group) => sum + group.deadLetters, 0)
    this.ok = dead === 0 && this.#groups.every(group => group.handled.size === published)
    const again = this.#groups.map(group => `${group.name} ${group.again}`).join(', ')
    this.say(
      this.ok
        ? `all ${published} messages were processed by all ${groups.length} groups; none is lost (processed again after a failure or the kill: ${again})`
        : `${published} messages published, ${this.#groups.map(group => `${group.name} processed ${group.handled.size}`).join(', ')}, ${dead} dead letters`,
    )
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#drawing
    if (!this.#live) return
    await this.#draw()
    console.log(`\n${this.#events.at(-1)?.trim() ?? ''}`)
  }

  #refresh(): void {
    this.#drawing = this.#drawing.then(() => this.#draw())
  }

  async #draw(): Promise<void> {
    const { messagesPublished, groups } = await this.#tm.admin.describeTopic('orders')
    const lines = [
      `${styleText('bold', 'Tidemark')}  topic ${styleText('cyan', 'orders')}  ${this.#seconds()}  published ${messagesPublished}`,
      '',
      styleText(
        'dim',
        `${pad('group', 11)}${pad('process', 10)}${pad('settled', BAR + 18)}${right('behind', 7)}${right('in flight', 11)}${right('retries', 9)}`,
      ),
      ...this.#groups.map(group => this.#row(group, groups, messagesPublished)),
      '',
      ...this.#events.slice(-6),
    ]
    if (this.#live) {
      const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : ''
      // No wrapping meanwhile: a line that took two would not be drawn over.
      process.stdout.write(`\x1b[?7l${up}${lines.map(line => `\x1b[2K${line}`).join('\n')}\n\x1b[J\x1b[?7h`)
      this.#drawn = lines.length
    } else {
      console.log(lines.slice(3, 3 + this.#groups.length).join('\n'))
    }
  }

  #row(process: GroupProcess, groups: readonly GroupDescription[], published: number): string {
    const group = groups.find(each => each.group === process.name)
    const { backlog = 0, inFlight = 0, retries = 0 } = group ?? {}
    const settled = published - backlog - inFlight - retries
    const share = published === 0 ? 0 : settled / published
    const full = Math.round(share * BAR)
    const bar = styleText('green', '█'.repeat(full)) + styleText('dim', '░'.repeat(BAR - full))
    const state = process.state === 'killed' ? styleText('red', pad('killed', 10)) : pad(process.state, 10)
    return `${pad(process.name, 11)}${state}${bar} ${pad(`${settled} (${Math.floor(share * 100)} %)`, 17)}${right(backlog, 7)}${right(inFlight, 11)}${right(retries, 9)}`
  }

  #seconds(): string {
    return `${((performance.now() - this.#startedAt) / 1_000).toFixed(1).padStart(5)} s`
  }
}

const pad = (text: string, width: number): string => text.padEnd(width)
const right = (value: string | number, width: number): string => String(value).padStart(width)
