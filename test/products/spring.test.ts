// A Spring Boot application signs people in: with a secret and as a public client.
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { java } from '../interop/toolchain.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct, signInAt, startProgram } from './product.ts'

const here = path.join(import.meta.dirname, 'spring')
const toolchain = await java(path.join(here, 'App.java'), path.join(here, 'pom.xml'))

describeProduct(
  {
    name: 'Spring Boot',
    version: '4.0.7',
    from: 'Maven org.springframework.boot:spring-boot-starter-security-oauth2-client',
    set: ['`provider.NAME.issuer-uri`, `client-id`, `client-secret`, `scope=openid,profile,email`, and nothing else'],
  },
  toolchain,
  (works) => {
    let service: TestService
    beforeAll(async () => {
      service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
    })
    afterAll(() => service.close())

    const signIn = async (token_endpoint_auth_method: string) => {
      const origin = `http://localhost:${await freePort()}`
      const { client_id, client_secret } = await addClient(service, {
        token_endpoint_auth_method,
        redirect_uris: [`${origin}/login/oauth2/code/here`],
        scope: 'openid profile email',
      })
      const registration = {
        'client-id': client_id,
        scope: 'openid,profile,email',
        ...(client_secret ? { 'client-secret': client_secret } : { 'client-authentication-method': 'none' }),
      }
      const options = [
        `--server.port=${new URL(origin).port}`,
        `--spring.security.oauth2.client.provider.here.issuer-uri=${service.issuer}`,
        ...Object.entries(registration).map(
          ([name, value]) => `--spring.security.oauth2.client.registration.here.${name}=${value}`,
        ),
      ]
      await startProgram([...commandOf(toolchain), ...options], `${origin}/me`)
      const { user, page } = await signInAt(service, `${origin}/me`)
      expect(page.text).toBe(`${user.id}, ${user.name}, ${user.email}`)
    }

    works('sign-in of a client with a secret', () => signIn('client_secret_basic'))
    works('sign-in of a public client', () => signIn('none'))
  },
)
