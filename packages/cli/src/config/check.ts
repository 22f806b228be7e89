import { ConfigFileError, loadConfig, ServiceTypeError, WiringError } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { counted } from '../output/counted.ts'
import { redact } from '../redact.ts'
import { requiredConfig } from './config-file.ts'

export async function checkConfiguration(given: Given, { output, environment }: Surroundings): Promise<ExitCode> {
  const file = requiredConfig(given)
  try {
    const { services } = await loadConfig(file, { environment })
    const running = services.filter(({ enabled }) => enabled).map(({ name }) => name)
    output.result({ config: file, services: running, problems: [] }, () => [
      `${file}: ${output.paint('green', 'no mistakes')}. ${counted(running.length, 'service')}: ${running.join(', ')}`,
    ])
    return EXIT.done
  } catch (error) {
    if (!(error instanceof ConfigFileError || error instanceof ServiceTypeError)) throw error
    const problems = problemsOf(error).map(redact)
    output.result({ config: file, services: [], problems }, () => [
      `${file}: ${output.paint('red', counted(problems.length, 'mistake'))}`,
      ...problems.map(problem => `  ${problem}`),
    ])
    return EXIT.found
  }
}

function problemsOf(error: ConfigFileError | ServiceTypeError): readonly string[] {
  if (error.cause instanceof WiringError) return error.cause.problems
  return [error instanceof ConfigFileError ? error.problem : error.message]
}
