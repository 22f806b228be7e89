import type { SwaggerOptions } from '@fastify/swagger'

export const openApiOptions: SwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Tidemark',
      version: '1',
      description: 'Durable topics, the pipeline built on them, and the runs that it has indexed.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that returned this description.' }],
    tags: [
      { name: 'topics', description: 'Topics and their settings.' },
      { name: 'messages', description: 'Publish messages, and browse them without consuming.' },
      { name: 'pull', description: 'Consume messages from any language: pull, settle, extend.' },
      { name: 'groups', description: 'Groups, their health and their backfills.' },
      { name: 'claims', description: 'Messages currently held by consumers.' },
      { name: 'dead letters', description: 'Messages that failed every delivery attempt.' },
      { name: 'pipeline', description: 'Services and resources of the pipeline, and ingestion of ticks.' },
      { name: 'runs', description: 'Indexed data of runs: environment, organisms, time series.' },
      { name: 'session', description: 'Identity of the caller; browser log-in and log-out.' },
      { name: 'server', description: 'Health, metrics, events and this description.' },
    ],
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An access token of the server. Its roles (read, metrics, publish, consume, operate, admin) each apply ' +
            'to all topics, or to topics with a name prefix. A server without tokens accepts local connections only ' +
            'and requires no token.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'tidemark_4680',
          description:
            'Session cookie for browsers, set by POST /api/v1/session. Its name ends with the port of the server, and begins with __Host- over TLS. ' +
            'A write also needs the X-CSRF-Token header, with the csrf of GET /api/v1/session.',
        },
      },
    },
    security: [{ token: [] }, { session: [] }],
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `schema-${index}`) },
}
