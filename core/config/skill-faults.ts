/** Names and descriptions of the team's skills (spec K5): a skill that could hide another one, or could not be found, is refused. */
import { SECTION_NAMES } from '../prompt/team.ts'
import { BUILT_IN_SKILLS } from '../prompt/templates.ts'
import { type ConfigFault, pointerOf } from './fault.ts'

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const NAME_FORM = 'small letters a to z and digits in words divided by one hyphen, at most 64 characters, such as release-notes'
const NAME_CHARACTERS = 64
const DESCRIPTION_CHARACTERS = 1024

/** What of a skill is text; a draft that is being checked may lack the rest. */
export interface ReadableSkill {
  name?: string
  description?: string
  body?: string
}

export function skillFaults(skills: readonly ReadableSkill[]): ConfigFault[] {
  const places = Map.groupBy(skills.keys(), (index) => skills[index]!.name)
  return skills.flatMap(({ name, description, body }, index) => {
    const at = (field: string) => pointerOf(['skills', index, field])
    const first = name === undefined ? index : places.get(name)![0]!
    return [
      ...(name === undefined ? [] : nameFaults(name).map((fault) => ({ pointer: at('name'), ...fault }))),
      ...(first === index
        ? []
        : [
            {
              pointer: at('name'),
              found: `${JSON.stringify(name)} is the name of ${pointerOf(['skills', first])} too`,
              legal: 'another name',
            },
          ]),
      ...(description === undefined
        ? []
        : lengthFaults(description, DESCRIPTION_CHARACTERS).map((fault) => ({ pointer: at('description'), ...fault }))),
      ...(body === undefined || body.trim() !== '' ? [] : [{ pointer: at('body'), found: 'found nothing but space', legal: 'a text' }]),
    ]
  })
}

function nameFaults(name: string): Pick<ConfigFault, 'found' | 'legal'>[] {
  const taken = BUILT_IN_SKILLS.find((reserved) => reserved === plain(name))
  if (taken !== undefined) {
    const reads = name === taken ? 'is the name of' : 'reads like'
    return [
      {
        found: `${JSON.stringify(name)} ${reads} the built-in skill ${taken}`,
        legal: `another name; to change that skill, override the part skill/${taken}`,
      },
    ]
  }
  // pieces of a configuration are read by their names
  if ((SECTION_NAMES as readonly string[]).includes(name))
    return [{ found: `${JSON.stringify(name)} is the name of a section`, legal: 'another name' }]
  return NAME.test(name) && name.length <= NAME_CHARACTERS ? [] : [{ found: `found ${shown(name)}`, legal: NAME_FORM }]
}

function lengthFaults(text: string, most: number): Pick<ConfigFault, 'found' | 'legal'>[] {
  const characters = text.trim() === '' ? 0 : [...text].length
  return characters >= 1 && characters <= most
    ? []
    : [{ found: `found ${characters} characters`, legal: `a text of 1 to ${most} characters` }]
}

/** As a reader takes it: wide and accented forms folded, what cannot be seen left out. */
const plain = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Mn}]/gu, '')
    .toLowerCase()

const shown = (name: string): string => (name.length > 80 ? `a name of ${[...name].length} characters` : JSON.stringify(name))
