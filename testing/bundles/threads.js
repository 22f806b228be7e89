// What is bundled: runs 20 ticks of a simulation in a thread, and prints as JSON what happened.
import { setTimeout as delay } from 'node:timers/promises'
import { checkConfig, queue, runPipeline } from '@tidemark/pipeline'

async function main() {
  const config = {
    resources: { queues: { ticks: {} } },
    services: {
      simulation: {
        type: 'simulation',
        thread: true,
        bindings: { ticks: queue('ticks') },
        options: { seed: 'bundle', shape: [10, 10], stateFolder: './state', maxTicks: 20 },
      },
    },
  }
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }
  const pipeline = await runPipeline(checkConfig(config, process.cwd()), { logger: quiet })
  const [failed] = pipeline.report.failed
  while (!failed && pipeline.services.statusOf('simulation').state === 'RUNNING') await delay(20)
  const { metrics } = pipeline.services.statusOf('simulation')
  await pipeline.stop()
  return { tick: metrics.tick, code: failed?.error.code, message: failed?.error.message }
}

main().then(
  result => console.log(JSON.stringify(result)),
  error => console.log(JSON.stringify({ code: error.code, message: error.message })),
)
