import 'reflect-metadata'
import { Controller, Get, Inject, Module, type OnModuleDestroy } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { open, Tidemark } from 'tidemark'

@Controller()
class Orders implements OnModuleDestroy {
  constructor(
    @Inject(Tidemark) private readonly onSqlite: Tidemark,
    @Inject('postgres') private readonly onPostgres: Tidemark,
  ) {}

  @Get('orders')
  async orders(): Promise<unknown[]> {
    const answers: unknown[] = []
    for (const tm of [this.onSqlite, this.onPostgres]) {
      await tm.publish('orders', { orderId: 7 })
      const reader = tm.reader('orders')
      const delivery = await reader.poll(20_000)
      if (delivery) await reader.ack(delivery)
      answers.push(delivery?.payload)
    }
    return answers
  }

  async onModuleDestroy(): Promise<void> {
    await this.onSqlite.close()
    await this.onPostgres.close()
  }
}

@Module({
  controllers: [Orders],
  providers: [
    { provide: Tidemark, useFactory: () => open('sqlite:./app.db') },
    { provide: 'postgres', useFactory: () => open(process.env.TIDEMARK_TEST_POSTGRES_URL ?? '') },
  ],
})
class App {}

async function main(): Promise<void> {
  const app = await NestFactory.create(App, { logger: ['error'] })
  app.enableShutdownHooks()
  await app.listen(Number(process.env.PORT), '127.0.0.1')
}

void main()
