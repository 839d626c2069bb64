import { Ajv2020 } from 'ajv/dist/2020.js';
import schema from './template.schema.json' with { type: 'json' };

/** Keeps the code that it writes, so that a cloud bundle can have that code and no Ajv. */
export const ajv = new Ajv2020({
  verbose: true,
  allowUnionTypes: true,
  strictRequired: false,
  code: { source: true, esm: true },
});

/** Is the value a template, as its JSON Schema says? If not, `isTemplate.errors` are its faults. */
export const isTemplate = ajv.compile(schema);
