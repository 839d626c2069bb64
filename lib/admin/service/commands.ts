import { BACKFILL_COMMANDS } from './backfills.ts';
import type { ServiceCommand } from './command.ts';
import { EXPORT_COMMANDS } from './exports.ts';
import { IMPORT_COMMANDS } from './imports.ts';
import { QUESTION_COMMANDS } from './questions.ts';
import { TENANT_COMMANDS } from './tenants.ts';

/** Every command that asks a running service. */
export const SERVICE_COMMANDS: readonly ServiceCommand[] = [
  ...EXPORT_COMMANDS,
  ...BACKFILL_COMMANDS,
  ...IMPORT_COMMANDS,
  ...QUESTION_COMMANDS,
  ...TENANT_COMMANDS,
];
