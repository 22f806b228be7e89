import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../../../testing/until.ts'
import { metadataOf, startWorld, ticksOf, type World } from './worlds.ts'

const deployed = (path: string): string => fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url))
const ALERTS = readFileSync(deployed('prometheus/alerts.yml'), 'utf8')
const DASHBOARD = JSON.parse(readFileSync(deployed('grafana/tidemark.json'), 'utf8'))

const METRICS_PAGE = readFileSync(fileURLToPath(new URL('../../../docs/reference/metrics.md', import.meta.url)), 'utf8')

/** Names and descriptions, as /metrics has them. */
const exported = (text: string): string[] =>
  [...text.matchAll(/^# HELP (\w+) (.+)$/gm)].map(([, name, help]) => `${name}: ${help}`).sort()

/** The same of the tables of the page. */
const documented = (): string[] =>
  [...METRICS_PAGE.matchAll(/^\| `((?:tidemark|process)_\w+)` \|.*\| (.+) \|$/gm)]
    .map(([, name, help]) => `${name}: ${help}`)
    .sort()

/** Exported only while there is something to tell, such as an outage or a budget. */
const AT_TIMES = ['tidemark_group_failing_seconds', 'tidemark_disk_seconds_left', 'tidemark_disk_budget_bytes']

const metricsIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/\b(tidemark_[a-z_]+?)(?:_bucket)?\b(?=[{[)\s,]|$)/g)].map(([, name = '']) => name))

describe('the alerts', () => {
  const promtool = (...args: string[]) => spawnSync('promtool', args, { encoding: 'utf8' })
  const skip = promtool('--version').error ? 'promtool is not installed (Debian: apt-get install prometheus)' : false

  it('are valid rules, and fire', { skip }, () => {
    const checked = promtool('check', 'rules', deployed('prometheus/alerts.yml'))
    assert.equal(checked.status, 0, checked.stdout + checked.stderr)
    const tested = promtool('test', 'rules', deployed('prometheus/alerts.test.yml'))
    assert.equal(tested.status, 0, tested.stdout + tested.stderr)
  })

  it('lead to pages that exist', () => {
    const page = readFileSync(fileURLToPath(new URL('../../../docs/guides/operating.md', import.meta.url)), 'utf8')
    const anchors = new Set([...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title)))
    const links = [...ALERTS.matchAll(/docs\/guides\/operating\.md#([\w-]+)/g)].map(([, anchor = '']) => anchor)
    assert.ok(links.length > 20)
    assert.deepEqual(
      links.filter(anchor => !anchors.has(anchor)),
      [],
    )
  })
})

describe('the metrics of the alerts and the dashboard', () => {
  it('are exported by a live server, and removed with what is deleted', async () => {
    await using world = await startWorld()
    await fill(world)
    const { text } = await world.get('/metrics')
    const wanted = new Set([...metricsIn(ALERTS), ...metricsIn(JSON.stringify(DASHBOARD.panels.flatMap(expressions)))])
    assert.ok(wanted.size > 30, [...wanted].join())
    const missing = [...wanted].filter(name => {
      const isThere = new RegExp(`^${name}(_bucket)?[{ ]`, 'm').test(text)
      return !(isThere || (AT_TIMES.includes(name) && text.includes(`# TYPE ${name} gauge`)))
    })
    assert.deepEqual(missing, [])
    assert.match(text, /tidemark_group_status\{topic="orders",group="email",status="ACTIVE"\} 1/)
    assert.match(text, /tidemark_service_state\{service="persistence",state="RUNNING"\} 1/)
    assert.match(text, /tidemark_indexer_batches_held\{service="environment-indexer"\} \d/)
    assert.match(text, /tidemark_job_last_success_timestamp_seconds\{name="dead-groups"\} \d/)

    assert.deepEqual(documented(), exported(text), 'docs/reference/metrics.md must list what /metrics exports')
    const counters = Object.keys(world.tm.metrics().totals)
    assert.deepEqual(
      counters.filter(name => !METRICS_PAGE.includes(`| \`${name}\` |`)),
      [],
      'docs/reference/metrics.md must list every counter of tm.metrics()',
    )

    await world.tm.admin.deleteTopic('orders')
    await world.tm.admin.stats({ maxAge: 0 })
    const after = (await world.get('/metrics')).text
    assert.doesNotMatch(after, /topic="orders"/)
  })
})

type Panel = { readonly targets: readonly { readonly expr: string }[] }
const expressions = ({ targets }: Panel): string[] => targets.map(({ expr }) => expr)

/** Something of everything: groups, a backfill, jobs, an indexed run. */
async function fill(world: World): Promise<void> {
  const { tm } = world
  await tm.configureTopic('orders', { semantics: 'pub-sub', tracking: 'reference' })
  await tm.publishBatch('orders', [1, 2, 3])
  const { receipt } = await tm.pull('orders', 'email', { from: 'beginning', wait: '10s' })
  if (receipt !== null) await tm.settle(receipt, { acks: 'all' })
  for (const job of ['messages', 'dead-groups', 'subscriptions', 'backfills'] as const)
    await tm.admin.jobs[job].runOnce()
  await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
  await world.ingest(ticksOf(world.runId, 0, 3))
  await world.indexed(3)
  await until(async () => (await tm.admin.backfill('orders', 'email')) !== undefined, { what: 'the backfill' })
  await world.get('/health')
  await tm.admin.stats({ maxAge: 0 })
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s/g, '-')
