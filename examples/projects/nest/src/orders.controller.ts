import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { Tidemark } from 'tidemark'

export type Order = { orderId: number; total: number }

@Controller('orders')
export class OrdersController {
  constructor(private readonly tm: Tidemark) {}

  @Post()
  @HttpCode(202)
  async place(@Body() order: Order): Promise<{ messageId: string }> {
    const { messageId } = await this.tm.publish('orders', order, { key: `order-${order.orderId}` })
    return { messageId }
  }
}
