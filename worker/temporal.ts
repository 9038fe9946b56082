/** Which Temporal: the one that the environment names, by Temporal's own variables and profiles, or an embedded one. */
import { loadClientConnectConfig } from '@temporalio/envconfig'
import type { NativeConnectionOptions } from '@temporalio/worker'
import type { Environment } from './environment.ts'

export interface TemporalAt {
  address: string
  namespace: string
  /** TLS, key and metadata of a server that asks for them. */
  security?: Pick<NativeConnectionOptions, 'tls' | 'apiKey' | 'metadata'>
}

/** Null: neither an address nor a profile is named, so Temporal is embedded. Throws what is wrong with the profile. */
export function configuredTemporal(environment: Environment): TemporalAt | null {
  if (!environment.TEMPORAL_ADDRESS && !environment.TEMPORAL_PROFILE) return null
  const given = Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined))
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars: given })
  const { address, tls, apiKey, metadata } = connectionOptions
  if (!address)
    throw new Error(
      `the Temporal profile "${environment.TEMPORAL_PROFILE}" names no address: set TEMPORAL_ADDRESS, or the address of the profile`,
    )
  return {
    address,
    namespace,
    security: {
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    },
  }
}
