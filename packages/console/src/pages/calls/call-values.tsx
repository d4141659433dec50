/** The arguments of a call. A value that the gateway rejected is marked, with the reason beside it. */
import type { CallTrace } from "@tendon/protocol";
import { useI18n } from "../../i18n/i18n.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Panel } from "../../ui/states.tsx";

export function CallValues({ trace }: { readonly trace: CallTrace }) {
  const { t } = useI18n();
  const { arguments: args, problems } = trace;
  const names = [...new Set([...Object.keys(args ?? {}), ...(problems ?? []).flatMap(nameIn)])];
  return (
    <Panel title={t("call.arguments")}>
      <div className="flex flex-col gap-1.5 px-4 pt-1 pb-4">
        {args === null && <p className="text-soft">{t("call.forgotten")}</p>}
        {args !== null && names.length === 0 && <p className="text-soft">{t("confirm.noValues")}</p>}
        {args !== null &&
          names.map((name) => (
            <Value
              key={name}
              name={name}
              value={args[name]}
              problems={(problems ?? []).filter((problem) => nameIn(problem)[0] === name)}
            />
          ))}
      </div>
    </Panel>
  );
}

type Problem = NonNullable<CallTrace["problems"]>[number];

function Value(props: {
  readonly name: string;
  readonly value: unknown;
  readonly problems: readonly Problem[];
}) {
  const { t } = useI18n();
  const { name, value, problems } = props;
  const isMissing = value === undefined;
  const wrong = problems.length > 0;
  return (
    <div className={wrong ? "rounded-lg border border-bad bg-bad-soft px-3 py-2" : ""}>
      {isMissing ? (
        <p className="font-mono text-sm">
          <span className="text-soft">{name}: </span>
          <span className="text-bad">{t("call.missing")}</span>
        </p>
      ) : (
        <JsonView value={value} name={name} />
      )}
      {problems.map(({ path, message }) => (
        <p key={path + message} className="flex items-center gap-1.5 text-sm text-bad">
          <Icon name="alert" size={13} />
          <span className="min-w-0 break-words">{message}</span>
        </p>
      ))}
    </div>
  );
}

/** The argument that a JSON pointer points into; none for the arguments as a whole. */
function nameIn({ path }: Problem): string[] {
  const [, first] = path.split("/");
  return first === undefined ? [] : [first.replaceAll("~1", "/").replaceAll("~0", "~")];
}
