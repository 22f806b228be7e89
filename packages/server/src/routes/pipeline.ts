import { setTimeout as delay } from 'node:timers/promises'
import type { PipelineGraph, PipelineStatus, StartReport } from '@tidemark/pipeline'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { ServiceStartError, StepTimeoutError } from '../errors.ts'
import { httpWords, withoutPaths } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Empty, nullable, strict } from '../schemas/common.ts'
import { GraphSchema } from '../schemas/live.ts'
import {
  PipelineStatusSchema,
  ServiceParams,
  ServiceStatusSchema,
  StartReportSchema,
  StepReportSchema,
} from '../schemas/pipeline.ts'

const tag = 'pipeline'
const MOST_STEPS = 100_000
/** A client waits no longer. */
const STEP_MS = 30_000
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
    path: `${API}/pipeline/graph`,
    tag,
    name: 'pipelineGraph',
    role: 'read',
    summary: 'Get the pipeline as it flows: services, what lies between them, and how fast data passes',
    answers: { 200: { says: 'The graph, at most a second old', content: GraphSchema } },
    async handle({ reply }) {
      const { pipeline: configured } = context
      const { pipeline } = await context.live.read()
      reply.header('cache-control', 'no-store')
      // Without topics nobody measures how fast it flows.
      return pipeline ?? withoutRates(configured.graph())
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
    path: `${SERVICE}/speed`,
    tag,
    name: 'setSpeed',
    role: 'admin',
    summary: 'Set the speed of a simulation',
    says: 'It applies until the process ends. null removes the limit.',
    params: ServiceParams,
    body: strict({ ticksPerSecond: nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 })) }),
    answers: { 200: { says: 'Status of the service', content: ServiceStatusSchema } },
    problems: [409],
    async handle({ params: { service }, body: { ticksPerSecond } }) {
      await context.pipeline.services.setSpeed(service, ticksPerSecond)
      return withErrors(context.pipeline.services.statusOf(service))
    },
  }),
  route({
    method: 'POST',
    path: `${SERVICE}/step`,
    tag,
    name: 'stepService',
    role: 'admin',
    summary: 'Make a number of ticks of a simulation, which is paused then',
    says: 'Answers when the ticks are handed over. A step that takes longer than 30 s goes on, and the answer is 504.',
    params: ServiceParams,
    body: strict({ ticks: Type.Integer({ minimum: 1, maximum: MOST_STEPS }) }),
    answers: { 200: { says: 'Ticks that were made', content: StepReportSchema } },
    problems: [409, 504],
    async handle({ params: { service }, body: { ticks } }) {
      const late = new AbortController()
      const stepping = context.pipeline.services.step(service, ticks)
      const timer = delay(STEP_MS, undefined, { signal: late.signal, ref: false })
      try {
        return await Promise.race([stepping, timer.then(() => Promise.reject(new StepTimeoutError(service, STEP_MS)))])
      } finally {
        late.abort()
        timer.catch(() => undefined)
        stepping.catch(() => undefined)
      }
    },
  }),

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

const withoutRates = ({ nodes, edges }: PipelineGraph): object => ({
  nodes,
  edges: edges.map(edge => ({ ...edge, perSecond: null, backlog: 0 })),
})

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
