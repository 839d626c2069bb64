/** The form of an insight: what is asked and kept. What is being written is not touched by what others change meanwhile. */
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo, useState } from 'react';
import { useScope } from '../../client/access.ts';
import { answered, api, type Schemas, type Versioned } from '../../client/api.ts';
import {
  boardsChange,
  changedBoards,
  type Insight,
  type InsightChange,
  insightAt,
  useAnswer,
  writeInsight,
} from '../../client/insights.ts';
import { changedOf, isSame } from '../../client/json.ts';
import { FORMULA_FIELDS, queryOf, questionOf } from '../../client/question-query.ts';
import { isWhole, type Question } from '../../client/questions.ts';
import { useNavigateFromHere } from '../address.ts';
import { disputedFields } from '../conflict-notice.tsx';
import { useSubmission } from '../form.ts';
import { faultOf, tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { useVersionedWrite } from '../versioned-write.tsx';

/** A question is asked once nobody has changed it for so long. */
const UNCHANGED_MS = 500;

/** Do two questions ask the same? */
const asksSame = (one: Question, other: Question): boolean => isSame(queryOf(one), queryOf(other));

export interface InsightFormOptions {
  readonly project: string;
  /** The question that the form begins with where nothing says another one. */
  readonly first: Question;
  /** The dashboards that a new one is to be on. */
  readonly boards?: readonly number[];
  /** The insight as it was read; undefined: a new one is made. */
  readonly seen: Versioned<Insight> | undefined;
  /** Begins anew from another version, which is known by then. */
  readonly look: () => void;
}

/** Begins with what was read, and writes what is changed of it; makes an insight where nothing was. */
export function useInsightForm({ project, first, boards: chosen = [], seen, look }: InsightFormOptions) {
  const navigate = useNavigateFromHere();
  const renew = useRenew();
  const [base, setBase] = useState(seen);
  const kept = base?.value;
  const begun = kept?.query == null ? first : questionOf(kept.query);
  const [question, setQuestion] = useState<Question>(begun ?? first);
  const [untouched, setUntouched] = useState(question);
  // Whoever begins anew what the form cannot say has something else from then on, whatever is in it.
  const isTouched = begun === undefined ? question !== untouched : !asksSame(question, untouched);
  const [name, setName] = useState(kept?.name ?? '');
  const [boards, setBoards] = useState<readonly number[]>(kept?.dashboards ?? chosen);
  const moved = boardsChange(kept?.dashboards ?? chosen, boards);
  const isUnsaved = isTouched || name !== (kept?.name ?? '') || moved !== undefined;
  const saving = useSubmission();
  const [settled] = useDebouncedValue(question, UNCHANGED_MS);
  // What the form cannot say is asked as it was kept, until somebody begins anew.
  const isForm = begun !== undefined || isTouched;
  // What is kept was never read; the service says what is wrong with it.
  const query = useMemo(() => (isForm ? queryOf(settled) : (kept?.query as Schemas['Query'])), [isForm, settled, kept]);
  const isAsked = !isForm || isWhole(settled);
  const answer = useAnswer(project, query, isAsked);
  // What could not be asked for again is there still.
  const failure = answer.data === undefined ? answer.error : null;

  const { send, notice } = useVersionedWrite<InsightChange, Insight>({
    what: 'the insight',
    at: insightAt(project, String(kept?.id)),
    write: (change, over) => writeInsight(project, over, change),
    shown: (version, own) => {
      if (own === undefined) {
        look();
        return;
      }
      const { value } = version;
      const sentName = own.name ?? kept?.name ?? '';
      const sentBoards = changedBoards(kept?.dashboards ?? [], own.dashboards);
      setBase(version);
      // What was written since it was sent stays.
      setName((now) => (now === sentName ? (value.name ?? '') : now));
      setBoards((now) => changedBoards(value.dashboards, boardsChange(sentBoards, now)));
      if (own.query === undefined) {
        // It may be theirs.
        const theirs = questionOf(value.query) ?? first;
        // Rows that say nothing yet stay where nothing is otherwise.
        const isOther = !asksSame(theirs, untouched);
        setQuestion((now) => (now === untouched || (isOther && asksSame(now, untouched)) ? theirs : now));
        setUntouched(theirs);
      } else if (isSame(queryOf(question), own.query)) setUntouched(question);
    },
    written: async ({ value }) => {
      await renew('insights', 'insight', 'dashboard');
      tell(`${value.name || 'The insight'} is kept.`);
    },
    disputed: ({ dashboards, ...fields }, theirs) =>
      disputedFields<keyof InsightChange>(
        {
          ...fields,
          ...(dashboards === undefined ? {} : { dashboards: changedBoards(theirs.dashboards, dashboards) }),
        },
        theirs,
      ),
    attempt: saving.attempt,
  });

  const change = (some: Partial<Question>): void => setQuestion((all) => ({ ...all, ...some }));

  async function save(): Promise<void> {
    const asked = queryOf(question);
    if (base !== undefined) {
      const own: InsightChange = {
        ...changedOf({ name }, { name: base.value.name ?? '' }),
        ...(moved === undefined ? {} : { dashboards: moved }),
        ...(isTouched ? { query: asked } : {}),
      };
      await send(own, base);
      return;
    }
    // “Back” leads to where it was begun, and not to an empty form.
    await make({ name, query: asked, dashboards: [...boards] }, { replace: true });
  }

  /** Makes an insight of what is in the form, and shows it. */
  async function make(body: Schemas['InsightsCreateRequest'], { replace }: { readonly replace: boolean }) {
    const { id } = await answered(
      api.POST('/api/projects/{project_id}/insights/', { params: { path: { project_id: project } }, body }),
    );
    await renew('insights', 'insight', 'dashboard');
    tell(`${body.name || 'The insight'} is kept.`);
    navigate({ to: `/projects/${project}/insights/${id}`, replace, ignoreBlocker: true });
  }

  /** It is on the dashboards that were chosen here: those of the other one may not be for everybody to change. */
  const saveAsNew = (): Promise<void> =>
    make(
      {
        name: name !== '' && name === kept?.name ? `${name} (copy)` : name,
        query: isForm ? queryOf(question) : kept?.query,
        dashboards: [...(moved?.added ?? [])],
      },
      { replace: false },
    );

  const maySave = useScope('insight:write');
  // What could never be answered is not kept anew. What is kept already does not hinder who writes a name beside it.
  const isWrong = settled === question && faultOf(failure, ...FORMULA_FIELDS) !== undefined;
  const canSaveAsNew = !isForm || (isWhole(question) && !isWrong);
  const canSave = canSaveAsNew || (base !== undefined && !isTouched);
  return {
    /** The insight as it was read or written last; undefined: it is new. */
    kept,
    question,
    change,
    /** Whether the form can say what is asked. */
    isForm,
    name,
    setName,
    boards,
    setBoards,
    isUnsaved,
    asking: { settled, isAsked, answer, failure },
    saving,
    canSave,
    canSaveAsNew,
    save: (): void => {
      if (maySave && canSave && !saving.isBusy) void saving.attempt(save);
    },
    saveAsNew: (): void => void saving.attempt(saveAsNew),
    /** Both versions, where somebody else was faster. */
    notice,
  };
}

export type InsightForm = ReturnType<typeof useInsightForm>;
