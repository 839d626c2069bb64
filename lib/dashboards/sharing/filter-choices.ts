/** What an owner may let readers of a shared page choose among. */
import * as z from 'zod';
import { parse } from '../../http/parse.ts';
import { BreakdownFilter } from '../../insights/kinds/parts/breakdown.ts';
import { propertyFilters } from '../../insights/kinds/parts/property-filters.ts';
import { invalid } from '../../ports/errors.ts';
import type { FilterChoice } from './model.ts';

const Choices = z.object({
  filter_choices: z.array(z.object({ properties: propertyFilters(), breakdown_filter: BreakdownFilter.nullish() })),
});

/** Throws a 400 when two choices have one name, or one says what no query could be asked with. */
export function checkChoices(filter_choices: readonly FilterChoice[]): void {
  const names = filter_choices.map(({ name }) => name);
  const again = names.findIndex((name, at) => names.indexOf(name) < at);
  if (again >= 0) invalid(`filter_choices__${again}__name`, 'Another choice has this name.');
  parse(Choices, { filter_choices });
}
