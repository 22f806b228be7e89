import { defaultConfig, defineConfig, index, storageRead, topicRead } from '@tidemark/pipeline'

const { services, ...rest } = defaultConfig() // the pipeline of npm start, on ./data

export default defineConfig({
  ...rest,
  services: {
    population: {
      type: './population.ts',
      bindings: {
        batches: topicRead('batch-topic', { consumerGroup: 'population' }),
        storage: storageRead('ticks'),
        index: index('runs'),
      },
      options: { flushTimeout: '1s', components: ['metadata', 'buffering', 'idempotency'] },
    },
    ...services,
  },
})
