import { Alert, Card } from '@mantine/core';
import { lazy } from 'react';
import { Refusal } from '../../client/api.ts';
import { FORMULA_FIELDS } from '../../client/question-query.ts';
import { LoadedLater } from '../loaded-later.tsx';
import { Loading } from '../loading.tsx';
import { MayBeOld, Problem } from '../problem.tsx';
import { Computed } from './computed.tsx';
import type { InsightForm } from './insight-form.ts';
import { LazyChart } from './lazy-chart.tsx';

const DownloadCsv = lazy(() => import('./download-csv.tsx'));
const DataRangeOffer = lazy(() => import('./data-range-offer.tsx'));

interface AnswerCardProps {
  readonly project: string;
  readonly form: Pick<InsightForm, 'question' | 'change' | 'isForm' | 'asking'>;
  /** What the insight is called. */
  readonly title: string;
}

/** What a question answers, or why it does not. */
export function AnswerCard({ project, form, title }: AnswerCardProps) {
  const { question, change, isForm } = form;
  const { settled, isAsked, answer, failure } = form.asking;
  const retry = (): void => void answer.refetch();
  return (
    <Card withBorder aria-busy={answer.isFetching}>
      {failure !== null && question.kind === 'HogQLQuery' && (
        <Alert color="red" variant="outline" role="alert">
          {failure instanceof Refusal ? failure.message : 'The service cannot be reached.'}
        </Alert>
      )}
      {failure !== null && question.kind !== 'HogQLQuery' && (
        <Problem error={failure} fields={isForm ? FORMULA_FIELDS : []} retry={retry} />
      )}
      {answer.data === undefined && answer.error === null && isAsked && <Loading />}
      {answer.data !== undefined && (
        <>
          <MayBeOld error={answer.error} retry={retry} />
          <LazyChart {...answer.data} />
          {isAsked && <Computed answer={answer.data.answer} ask={answer.refetch} />}
          <LoadedLater>
            <DownloadCsv {...answer.data} name={title} />
          </LoadedLater>
          {isForm && question.kind !== 'HogQLQuery' && !answer.isPlaceholderData && (
            <LoadedLater>
              <DataRangeOffer
                project={project}
                {...answer.data}
                question={settled}
                choose={(range) => change({ range })}
              />
            </LoadedLater>
          )}
        </>
      )}
    </Card>
  );
}
