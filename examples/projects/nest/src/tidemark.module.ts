import { Global, Module, type OnApplicationShutdown } from '@nestjs/common'
import { open, Tidemark } from 'tidemark'

/** One open Tidemark for the whole application: inject it with its class, `constructor(private readonly tm: Tidemark)`. */
@Global()
@Module({
  providers: [
    {
      provide: Tidemark,
      useFactory: async () => {
        const tm = await open(process.env.DATABASE ?? 'sqlite:./data/app.db')
        await tm.configureTopic('orders', { semantics: 'pub-sub' })
        return tm
      },
    },
  ],
  exports: [Tidemark],
})
export class TidemarkModule implements OnApplicationShutdown {
  constructor(private readonly tm: Tidemark) {}

  // After the consumers have stopped, which do so in beforeApplicationShutdown.
  async onApplicationShutdown(): Promise<void> {
    await this.tm.close()
  }
}
