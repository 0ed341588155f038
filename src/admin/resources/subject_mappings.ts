// Admin operations on subject mappings: which local subject a subject of an identity provider is.
import { z } from 'zod'
import { int, name, word } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import type { SubjectMapping } from '../../records/idp.ts'
import { mappingDetail } from '../../store/recorded.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/federation.ts'
import { mappingForm } from '../forms/resource_form.ts'
import { AFTER, cursorOf, q } from '../lists.ts'
import { conflict, notFound } from '../outcome.ts'
import { withXaa } from './idps.ts'

const creatable = z.object({
  idp_id: name().describe('The identity provider.'),
  mode: word(['explicit']).default('explicit').describe('Only explicit exists.'),
  federated_subject: name().describe('The sub of its assertions, compared byte for byte.'),
  local_subject: name().describe('The sub of the tokens that are issued for it: the id of a user.'),
})

export const subjectMappings: AdminResource = {
  name: 'mapping',
  item: 'subject mapping',
  doc: 'Mappings from subjects of identity providers to local subjects. Only with `xaa.enabled`.',
  enabled: withXaa,
  actions: {
    list: action('GET /admin/xaa/subject-mappings', {
      doc: 'Lists subject mappings, oldest first.',
      answer: z.array(answers.mapping),
      query: z.strictObject({
        idp_id: name().optional().describe('Only mappings of this identity provider.'),
        q: q.describe('Only mappings with this text in one of their subjects. Case is ignored.'),
        limit: int(1, 100_000).optional().describe('Maximum number of items. Default: all.'),
        after: name().optional().describe(AFTER),
      }),
      async run({ store }, { query: { after: last, ...query } }) {
        const after = await cursorOf('mapping', last, (id) => store.findSubjectMappingById({ id }))
        return { shown: (await store.listSubjectMappings({ ...query, after })).map(dated) }
      },
    }),
    create: action('POST /admin/xaa/subject-mappings', {
      doc: 'Maps a subject of an identity provider to a local one.',
      answer: answers.mapping,
      status: 201,
      form: mappingForm,
      body: creatable,
      needs: 'admin',
      audit: 'subject_mapping_created',
      async run(app, { body }, by) {
        const mapping: SubjectMapping = { ...body, id: `m_${newId()}`, created_at: app.clock.now() }
        const outcome = await by.record('createSubjectMapping', mapping, { detail: mappingDetail(mapping) })
        if (outcome === undefined) throw notFound('identity provider')
        if (outcome === 'exists') throw conflict('this subject is mapped already', 'mapping_exists')
        return { shown: dated(mapping) }
      },
    }),
    delete: action('DELETE /admin/xaa/subject-mappings/{id}', {
      doc: 'Deletes a subject mapping.',
      needs: 'admin',
      audit: 'subject_mapping_deleted',
      async run(_app, { params: { id } }, by) {
        if (!(await by.record('deleteSubjectMapping', { id }, { detail: {} }))) throw notFound('subject mapping')
      },
    }),
  },
}
