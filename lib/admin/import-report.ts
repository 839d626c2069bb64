import type { NeededBackfill } from '../exports/resource/import-backfills.ts';
import { wireInstant } from '../http/instant.ts';
import type { ImportReport } from '../lake/import/import.ts';

const isoRange = ({ from, to }: { from: number; to: number }) => ({ start: wireInstant(from), end: wireInstant(to) });

/** What an import did, and which backfills deliver what it added to hours that were exported before. */
interface ImportOutcome extends Omit<ImportReport, 'hours'> {
  readonly backfills: readonly NeededBackfill[];
}

/** The report as `--json` prints it: instants are ISO 8601. */
export function importObject(report: ImportOutcome) {
  return {
    ...report,
    arrival: report.arrival === null ? null : isoRange(report.arrival),
    backfills: report.backfills.map(({ export: id, name, ...range }) => ({ export: id, name, ...isoRange(range) })),
  };
}

const counted = (n: number, word: string): string => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

/** The report for a person. */
export function importText(report: ImportOutcome): string {
  const { persons } = report;
  const lines = [`${counted(report.events, 'event')}: ${report.added} added, ${report.known} known already`];
  if (persons.read > 0 || persons.rows > 0) {
    const told = persons.read > 0 ? `${counted(persons.read, 'state')} of persons; ` : '';
    lines.push(`${told}${counted(persons.rows, 'row')} added to the model persons`);
  }
  if (persons.refused > 0) {
    lines.push(`${counted(persons.refused, 'change')} of persons refused: merges that may not be, or over 512 KiB`);
  }
  if (report.arrival !== null) {
    const { start, end } = isoRange(report.arrival);
    lines.push(`They count as arrived from ${start} to ${end}.`);
  }
  for (const { file, problem } of report.files) if (problem !== null) lines.push(`${file}: ${problem}`);
  if (report.bad > 0) {
    lines.push(`${counted(report.bad, 'bad record')}:`);
    for (const { file, line, reason } of report.rejected) lines.push(`  ${file}:${line}: ${reason}`);
    if (report.bad > report.rejected.length) lines.push(`  ... and ${report.bad - report.rejected.length} more`);
    for (const { rejected } of report.files) if (rejected !== null) lines.push(`They were copied to ${rejected}.`);
  }
  for (const { name, export: id, ...range } of report.backfills) {
    const { start, end } = isoRange(range);
    lines.push(`Export "${name}" (${id}) has run these hours before; backfill ${start} to ${end} to deliver them.`);
  }
  return lines.join('\n');
}
