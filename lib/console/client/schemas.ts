import type { components } from '../../../build/types/api.d.ts';

/** The shapes of the public API, by the names that its document has for them. */
export type Schemas = components['schemas'];
