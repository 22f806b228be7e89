import { Module } from '@nestjs/common'
import { EmailConsumer } from './email.consumer.js.ts'
import { OrdersController } from './orders.controller.js.ts'
import { TidemarkModule } from './tidemark.module.js.ts'

@Module({ imports: [TidemarkModule], controllers: [OrdersController], providers: [EmailConsumer] })
export class AppModule {}
