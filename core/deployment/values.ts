/** What the main Session is told of its deployment, in this order (spec C5). */
import type { Settings } from './settings.ts'

export function deploymentValues({ github, model }: Pick<Settings, 'github' | 'model'>): { name: string; value: string }[] {
  return [
    { name: 'GitHub', value: github ? 'on' : 'off' },
    ...(github && github.repositories.length > 0 ? [{ name: 'Repositories', value: github.repositories.join(', ') }] : []),
    ...(model ? [{ name: 'Model', value: model.mainName }] : []),
  ]
}
