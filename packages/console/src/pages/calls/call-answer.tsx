/** What the device answered, or why there is no answer. */
import type { CallTrace } from "@tendon/protocol";
import { consolePaths } from "@tendon/protocol";
import { Link } from "wouter";
import { inPath } from "../../api/client.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Alert, outcomeNext } from "../../ui/problem.tsx";
import { Panel } from "../../ui/states.tsx";
import { jsonIn, ResultParts } from "../../ui/tool-result.tsx";

export function CallAnswer({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const { outcome, state, answer } = trace;
  const answered = outcome === "ok" || outcome === "tool_error";
  return (
    <Panel
      title={t(!answered && trace.sentAt === null && state === "finished" ? "call.notSent" : "call.answer")}
    >
      <div className="flex flex-col gap-3 px-4 pt-1 pb-4">
        {state === "running" && <p className="text-soft">{t("call.noAnswerYet")}</p>}
        {state === "queued" && <p className="text-soft">{t("call.waitsForDevice")}</p>}
        {state === "finished" && !answered && <Failure trace={trace} />}
        {answered && answer === null && <p className="text-soft">{t("call.answerGone")}</p>}
        {answer !== null && <Content trace={trace} answer={answer} />}
      </div>
    </Panel>
  );
}

function Failure({ trace }: { readonly trace: CallTrace }) {
  const i18n = useI18n();
  const { outcome, detail } = trace;
  const next = outcomeNext(i18n, outcome ?? "internal");
  return (
    <Alert>
      {detail !== null && <p className="font-medium break-words">{detail}</p>}
      <p className="text-text">
        {next}{" "}
        {outcome === "approval_required" && (
          <Link href={consolePaths.approvals} className="text-accent-deep underline">
            {i18n.t("nav.approvals")}
          </Link>
        )}
      </p>
    </Alert>
  );
}

type Answer = NonNullable<CallTrace["answer"]>;
type Part = Answer["content"][number];

function Content({ trace, answer }: { readonly trace: CallTrace; readonly answer: Answer }) {
  const { t } = useI18n();
  const { content, structuredContent, cut } = answer;
  const picture = trace.picture ? `/api/v1/calls/${inPath(trace.callId)}/picture` : undefined;
  // The photo first, then what is said about it.
  const ordered = content.map(asSentence).sort((one, other) => rank(one) - rank(other));
  // Devices send their structured answer as text too, and then the text is shown as a tree.
  const isText = content.some(({ text }) => typeof text === "string" && jsonIn(text) !== undefined);
  return (
    <>
      {content.length === 0 && structuredContent === undefined && (
        <p className="text-soft">{t("call.answerEmpty")}</p>
      )}
      <ResultParts content={ordered} {...(picture === undefined ? {} : { picture })} />
      {structuredContent !== undefined && !isText && (
        <div>
          <h3 className="pb-1 text-sm text-soft">{t("call.structured")}</h3>
          <JsonView value={structuredContent} />
        </div>
      )}
      {cut && <p className="text-sm text-soft">{t("call.answerCut")}</p>}
    </>
  );
}

/** Boards pass the vision server's JSON reply on as it is. Only its sentence is for people. */
function asSentence(part: Part): Part {
  const reply = typeof part["text"] === "string" ? jsonIn(part["text"]) : undefined;
  if (reply === undefined || !("success" in reply)) return part;
  const { result, message } = reply as { readonly result?: unknown; readonly message?: unknown };
  const text = [result, message].find((each) => typeof each === "string");
  return text === undefined ? part : { ...part, text };
}

function rank({ type }: Part): number {
  return type === "image" ? 0 : 1;
}
