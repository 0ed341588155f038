// Runs before every test file.
import './key_export.ts'
import { afterAll } from 'vitest'
import { endFile } from './end_of_file.ts'

afterAll(endFile)
