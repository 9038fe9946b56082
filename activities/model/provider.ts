/** The model by configuration: one of four providers of the AI SDK. It tries a request once; retries belong to Temporal. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createDeepSeek } from '@ai-sdk/deepseek'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import type { ModelSettings } from '../../core/deployment/settings.ts'

export function languageModel(
  { provider, baseUrl, apiKey }: Pick<ModelSettings, 'provider' | 'baseUrl' | 'apiKey'>,
  name: string,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): LanguageModel {
  const common = { fetch, ...(apiKey === null ? {} : { apiKey }), ...(baseUrl === null ? {} : { baseURL: baseUrl }) }
  switch (provider) {
    case 'openai-compatible':
      return createOpenAICompatible({ ...common, baseURL: baseUrl!, name: 'openai-compatible', includeUsage: true })(name)
    case 'deepseek':
      return createDeepSeek(common)(name)
    case 'anthropic':
      return createAnthropic(common)(name)
    case 'openai':
      return createOpenAI(common)(name)
    default:
      return provider satisfies never
  }
}
