import type { Logger } from 'tidemark'
import { checkAgainstType } from '../config/check-config.ts'
import type { CheckedService } from '../config/config.ts'
import type { Resources } from '../resources/resources.ts'
import { resolveServiceType } from './registry.ts'
import type { Service } from './service.ts'

/** Builds a service of this thread from its part of the configuration. */
export async function buildService(
  service: CheckedService,
  folder: string,
  resources: Resources,
  logger: Logger,
): Promise<Service> {
  const { name, type: typeName, bindings } = service
  const type = await resolveServiceType(typeName, folder)
  const options = checkAgainstType(service, type)
  const bound = await resources.bind(name, bindings, type.bindings)
  const built = await type.create({ name, options, resources: bound, logger, folder })
  built.monitor(() => bound.status())
  return built
}
