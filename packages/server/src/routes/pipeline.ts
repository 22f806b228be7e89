import type { PipelineStatus, StartReport } from '@tidemark/pipeline'
import type { Context } from '../context.ts'
import { ServiceStartError } from '../errors.ts'
import { httpWords, withoutPaths } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Empty } from '../schemas/common.ts'
import { PipelineStatusSchema, ServiceParams, ServiceStatusSchema, StartReportSchema } from '../schemas/pipeline.ts'

const tag = 'pipeline'
const SERVICE = `${API}/pipeline/services/:service`

export const pipelineRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/pipeline`,
    tag,
    name: 'pipelineStatus',
    role: 'read',
    summary: 'Get the status of services and resources',
    answers: { 200: { says: 'Status of the pipeline', content: PipelineStatusSchema } },
    async handle() {
      return statusJson(await context.pipeline.look())
    },
  }),

  route({
    method: 'GET',
    path: SERVICE,
    tag,
    name: 'serviceStatus',
    role: 'read',
    summary: 'Get the status of a service',
    params: ServiceParams,
    answers: { 200: { says: 'Status of the service', content: ServiceStatusSchema } },
    async handle({ params: { service } }) {
      return withErrors(context.pipeline.services.statusOf(service))
    },
  }),

  ...(['start', 'restart'] as const).flatMap(verb => [
    route({
      method: 'POST',
      path: `${API}/pipeline/${verb}`,
      tag,
      name: `${verb}Pipeline`,
      role: 'operate',
      summary: verb === 'start' ? 'Start all services in order' : 'Restart all services',
      body: Empty,
      answers: { 200: { says: 'Started and failed services', content: StartReportSchema } },
      problems: [504],
      async handle() {
        return reportJson(await context.pipeline.services[verb]())
      },
    }),
    route({
      method: 'POST',
      path: `${SERVICE}/${verb}`,
      tag,
      name: `${verb}Service`,
      role: 'operate',
      summary: verb === 'start' ? 'Start a service' : 'Restart a service',
      params: ServiceParams,
      body: Empty,
      answers: { 200: { says: 'Status of the service', content: ServiceStatusSchema } },
      problems: [409, 504],
      async handle({ params: { service } }) {
        const { failed } = await context.pipeline.services[verb](service)
        for (const { error } of failed) throw new ServiceStartError(service, error)
        return withErrors(context.pipeline.services.statusOf(service))
      },
    }),
  ]),

  ...(['stop', 'pause', 'resume'] as const).flatMap(verb => [
    route({
      method: 'POST',
      path: `${API}/pipeline/${verb}`,
      tag,
      name: `${verb}Pipeline`,
      role: 'operate',
      summary: `${VERBS[verb]} all services`,
      body: Empty,
      answers: { 200: { says: 'Status of the pipeline', content: PipelineStatusSchema } },
      async handle() {
        await context.pipeline.services[verb]()
        return statusJson(context.pipeline.status())
      },
    }),
    route({
      method: 'POST',
      path: `${SERVICE}/${verb}`,
      tag,
      name: `${verb}Service`,
      role: 'operate',
      summary: `${VERBS[verb]} a service`,
      params: ServiceParams,
      body: Empty,
      answers: { 200: { says: 'Status of the service', content: ServiceStatusSchema } },
      async handle({ params: { service } }) {
        await context.pipeline.services[verb](service)
        return withErrors(context.pipeline.services.statusOf(service))
      },
    }),
  ]),

  route({
    method: 'POST',
    path: `${API}/pipeline/clear-errors`,
    tag,
    name: 'clearPipelineErrors',
    role: 'operate',
    summary: 'Clear the errors of all services and resources; persistent failures are reported again',
    body: Empty,
    answers: { 200: { says: 'Status of the pipeline', content: PipelineStatusSchema } },
    async handle() {
      context.pipeline.clearErrors()
      return statusJson(context.pipeline.status())
    },
  }),
  route({
    method: 'POST',
    path: `${SERVICE}/clear-errors`,
    tag,
    name: 'clearServiceErrors',
    role: 'operate',
    summary: 'Clear the errors of a service; persistent failures are reported again',
    params: ServiceParams,
    body: Empty,
    answers: { 200: { says: 'Status of the service', content: ServiceStatusSchema } },
    async handle({ params: { service } }) {
      context.pipeline.clearErrors(service)
      return withErrors(context.pipeline.services.statusOf(service))
    },
  }),
]

const VERBS = { stop: 'Stop', pause: 'Pause', resume: 'Resume' } as const

type WithErrors = { readonly errors: readonly { readonly at: Date; readonly action: string; readonly error: Error }[] }

/** Errors as text; no stack leaves the process. */
const withErrors = <T extends WithErrors & { readonly waitingFor?: string | null }>(status: T): object => ({
  ...status,
  ...(typeof status.waitingFor === 'string' && { waitingFor: withoutPaths(status.waitingFor) }),
  errors: status.errors.map(({ at, action, error }) => ({ at, action, name: error.name, message: wordsOf(error) })),
})

const wordsOf = (error: Error): string => httpWords({ ...error, message: error.message })

const statusJson = ({ services, resources, disk, healthy }: PipelineStatus): object => ({
  healthy,
  disk,
  services: services.map(withErrors),
  resources: resources.map(withErrors),
})

const reportJson = ({ started, waiting, failed }: StartReport): object => ({
  started,
  waiting,
  failed: failed.map(({ service, error }) => ({ service, name: error.name, message: wordsOf(error) })),
})
