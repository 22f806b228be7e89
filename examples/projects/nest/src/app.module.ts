import { Module } from '@nestjs/common'
import { EmailConsumer } from './email.consumer.js'
import { OrdersController } from './orders.controller.js'
import { TidemarkModule } from './tidemark.module.js'

@Module({ imports: [TidemarkModule], controllers: [OrdersController], providers: [EmailConsumer] })
export class AppModule {}
