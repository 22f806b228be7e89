import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

const app = await NestFactory.create(AppModule)
app.enableShutdownHooks() // SIGTERM stops the consumers and closes the database
await app.listen(process.env.PORT ?? 3000)
