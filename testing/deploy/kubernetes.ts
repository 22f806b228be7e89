import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, Secret, Service } from 'kubernetes-models/v1'
import { parseAllDocuments } from 'yaml'

type Labels = Readonly<Record<string, string>>
type Container = {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { valueFrom?: { secretKeyRef?: { name: string; key: string } } }[]
  readonly envFrom?: readonly { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  readonly ports?: readonly { name: string }[]
  readonly volumeMounts?: readonly { name: string }[]
}
type Pod = {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly { name: string }[]
}
/** What the checks below look at; the rest is checked against the schema of its kind. */
export type Resource = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: {
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
    readonly selector?: { readonly matchLabels?: Labels } & Labels
    readonly volumeClaimTemplates?: readonly { metadata: { name: string } }[]
    readonly scaleTargetRef?: { readonly name: string }
    readonly ports?: readonly { readonly targetPort: string }[]
  }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
}

const KINDS = {
  ConfigMap,
  Deployment,
  Namespace,
  PodDisruptionBudget,
  ScaledObject,
  Secret,
  Service,
  StatefulSet,
} as const

/** Every document of the folder, with what is wrong with it. */
export function checkKubernetes(folder: string): { mistakes: string[]; commands: (readonly string[])[] } {
  const files = readdirSync(folder).filter(file => file.endsWith('.yaml'))
  const documents = files.flatMap(file => documentsOf(join(folder, file)).map(resource => ({ file, resource })))
  const listed = documents.find(({ resource }) => resource.kind === 'Kustomization')?.resource as unknown as {
    readonly resources: readonly string[]
  }
  const resources = documents.filter(({ resource }) => resource.kind !== 'Kustomization')
  const all = resources.map(({ resource }) => resource)
  const mistakes = [
    ...listed.resources
      .filter(file => !files.includes(file))
      .map(file => `kustomization.yaml lists ${file}, which is missing`),
    ...files
      .filter(file => !listed.resources.includes(file) && !/^(kustomization|secret\.example)\.yaml$/.test(file))
      .map(file => `kustomization.yaml does not list ${file}`),
    ...resources.flatMap(({ file, resource }) => [
      ...againstSchema(resource).map(mistake => `${file}: ${mistake}`),
      ...references(resource, all).map(mistake => `${file}: ${resource.kind} ${resource.metadata.name} ${mistake}`),
    ]),
  ]
  return { mistakes, commands: all.flatMap(podContainers).map(({ args }) => args ?? []) }
}

function documentsOf(path: string): Resource[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map(document => {
    if (document.errors[0]) throw new Error(`${path}: ${document.errors[0].message}`)
    return document.toJS() as Resource
  })
}

function againstSchema(resource: Resource): string[] {
  const model = KINDS[resource.kind as keyof typeof KINDS]
  if (model === undefined) return [`kind ${resource.kind} is not checked: add it to KINDS`]
  try {
    new model(resource as never).validate()
    return []
  } catch (error) {
    return [`${resource.kind} ${resource.metadata.name}: ${(error as Error).message}`]
  }
}

const podContainers = ({ spec }: Resource): Container[] => {
  const pod = spec?.template?.spec
  return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]
}

/** What a resource names must exist: schemas don't know it, and a cluster says it only when it is too late. */
function references(resource: Resource, all: readonly Resource[]): string[] {
  const { spec } = resource
  const keysOf = (kind: string, name: string): string[] | undefined => {
    const found = all.find(other => other.kind === kind && other.metadata.name === name)
    return found && Object.keys({ ...found.data, ...found.stringData })
  }
  const workloads = all.filter(other => other.spec?.template !== undefined)
  const selected = (labels: Labels): Resource | undefined =>
    workloads.find(({ spec }) =>
      Object.entries(labels).every(([name, value]) => spec?.template?.metadata.labels[name] === value),
    )
  const labels = spec?.selector?.matchLabels ?? (resource.kind === 'Service' ? spec?.selector : undefined)
  const volumes = [
    ...(spec?.template?.spec.volumes ?? []),
    ...(spec?.volumeClaimTemplates ?? []).map(({ metadata }) => metadata),
  ]
  const ports =
    labels && selected(labels) ? podContainers(selected(labels) as Resource).flatMap(({ ports }) => ports ?? []) : []
  return [
    ...(labels && !selected(labels) ? [`selects no pod with ${JSON.stringify(labels)}`] : []),
    ...(resource.kind === 'Service' ? (spec?.ports ?? []) : [])
      .filter(({ targetPort }) => !ports.some(({ name }) => name === targetPort))
      .map(({ targetPort }) => `has the port ${targetPort}, which no container has`),
    ...(spec?.scaleTargetRef && !workloads.some(({ metadata }) => metadata.name === spec.scaleTargetRef?.name)
      ? [`scales ${spec.scaleTargetRef.name}, which does not exist`]
      : []),
    ...podContainers(resource).flatMap(({ name, env = [], envFrom = [], volumeMounts = [] }) => [
      ...env
        .flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])
        .filter(({ name, key }) => !keysOf('Secret', name)?.includes(key))
        .map(({ name, key }) => `needs the key ${key} of the secret ${name}, which the example lacks`),
      ...envFrom
        .flatMap(({ configMapRef, secretRef }) => [
          ...(configMapRef && !keysOf('ConfigMap', configMapRef.name) ? [`the settings ${configMapRef.name}`] : []),
          ...(secretRef && !keysOf('Secret', secretRef.name) ? [`the secret ${secretRef.name}`] : []),
        ])
        .map(missing => `needs ${missing}, which does not exist`),
      ...volumeMounts
        .filter(mount => !volumes.some(volume => volume.name === mount.name))
        .map(mount => `mounts the volume ${mount.name} in ${name}, which the pod lacks`),
    ]),
  ]
}
