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
    servers: [{ url: '/', description: 'The server that gave this description.' }],
    tags: [
      { name: 'topics', description: 'Topics and their settings.' },
      { name: 'messages', description: 'Publishing, and looking without consuming.' },
      { name: 'pull', description: 'Consuming from programs in any language: pull, settle, extend.' },
      { name: 'groups', description: 'Groups, their health and their backfills.' },
      { name: 'claims', description: 'Messages that consumers hold.' },
      { name: 'dead letters', description: 'Messages that are out of attempts.' },
      { name: 'pipeline', description: 'Services and resources, and ticks from outside.' },
      { name: 'runs', description: 'What was indexed: environment, organisms, series.' },
      { name: 'session', description: 'Who one is here; logging a browser in and out.' },
      { name: 'server', description: 'Health, metrics, events and this description.' },
    ],
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of the server. It has roles (read, metrics, publish, consume, operate, admin), each for all topics or for those ' +
            'whose names begin with a text. A server without tokens serves its own machine only, and asks for none.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'tidemark_4680',
          description:
            'For browsers: POST /api/v1/session sets it. Its name ends with the port of the server, and begins with __Host- over TLS. ' +
            'A write also needs the X-CSRF-Token header, with the csrf of GET /api/v1/session.',
        },
      },
    },
    security: [{ token: [] }, { session: [] }],
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `schema-${index}`) },
}
