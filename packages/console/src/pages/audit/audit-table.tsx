import type { AuditAction, AuditList } from "@tendon/protocol";
import { auditActions, consolePaths } from "@tendon/protocol";
import { Link } from "wouter";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { Clock } from "../../ui/time.tsx";

type Entry = AuditList["entries"][number];

const cell = "px-3 first:pl-4 last:pr-4 max-lg:px-4 py-2.5 align-top break-words max-lg:block max-lg:py-0";
const widths = { when: "w-32", principal: "", action: "", target: "w-[30%]", from: "w-32" } as const;

/** A table on wide screens; on narrow ones each entry is a block. */
export function AuditTable({ entries }: { readonly entries: readonly Entry[] }) {
  const { t } = useI18n();
  const heads = ["when", "principal", "action", "target", "from"] as const;
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-surface">
      <table aria-label={t("audit.title")} className="w-full table-fixed text-left text-sm max-lg:block">
        <thead className="max-lg:sr-only">
          <tr className="border-b border-line text-xs text-soft">
            {heads.map((head) => (
              <th
                key={head}
                scope="col"
                className={`px-3 py-2 font-medium first:pl-4 last:pr-4 ${widths[head]}`}
              >
                {t(`audit.${head}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line max-lg:block">
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ entry }: { readonly entry: Entry }) {
  const { t } = useI18n();
  return (
    <tr className="max-lg:grid max-lg:grid-cols-[minmax(0,1fr)_auto] max-lg:gap-y-0.5 max-lg:py-2.5">
      <td className={`${cell} text-soft max-lg:order-2 max-lg:text-right`}>
        <Clock at={entry.at} />
      </td>
      <td className={`${cell} max-lg:order-3`} title={entry.principalId}>
        {entry.principal}
        {isToken(entry) && (
          <code className="block truncate font-mono text-xs text-soft max-lg:hidden">
            {entry.principalId}
          </code>
        )}
      </td>
      <td className={`${cell} font-medium max-lg:order-1`}>
        {actionText(t, entry.action)}
        <code className="block truncate font-mono text-xs font-normal text-soft max-lg:hidden">
          {entry.action}
        </code>
      </td>
      <td className={`${cell} max-lg:order-5 max-lg:col-span-2`}>
        <Target entry={entry} />
        {entry.detail !== undefined && <Detail detail={entry.detail} />}
      </td>
      <td className={`${cell} text-soft max-lg:order-4 max-lg:text-right`}>{entry.from}</td>
    </tr>
  );
}

/** A token may have the name of one that was revoked; the id tells them apart. */
function isToken({ principal, principalId }: Entry): boolean {
  return principalId !== undefined && principalId !== principal;
}

/** A deleted device has no page, and an imported one may not have connected. */
const withoutPage: readonly string[] = ["device.delete", "device.import", "device.unimport"];

/** The name, as a link where the target has a page. */
function Target({ entry: { action, target } }: { readonly entry: Entry }) {
  const href =
    target.type === "device" && !withoutPage.includes(action)
      ? deviceAddress(target.id)
      : target.type === "token" && action !== "token.revoke"
        ? consolePaths.tokens
        : target.type === "firmware" && action !== "firmware.delete"
          ? consolePaths.firmware
          : target.type === "webhook" && action !== "webhook.delete"
            ? consolePaths.webhooks
            : undefined;
  // A session belongs to the person who acts, whose name the row has already.
  if (target.type === "session") return null;
  if (href === undefined) return target.name;
  return (
    <Link href={href} className="rounded hover:text-accent-deep hover:underline">
      {target.name}
    </Link>
  );
}

/** A change as “before → after”; everything else as a list that opens. */
function Detail({ detail }: { readonly detail: NonNullable<Entry["detail"]> }) {
  const { t } = useI18n();
  const entries = Object.entries(detail);
  if (entries.length === 0) return null;
  if (entries.every(([key]) => key === "from" || key === "to"))
    return (
      <span className="block text-soft">
        {valueText(detail["from"])} → {valueText(detail["to"])}
      </span>
    );
  return (
    <details className="text-soft">
      <summary className="w-fit rounded hover:text-text">{t("audit.details")}</summary>
      <dl className="mt-1 grid grid-cols-1 gap-y-1">
        {entries.map(([key, value]) => (
          <div key={key} className="flex flex-wrap gap-x-2">
            <dt className="font-mono text-xs leading-5">{key}</dt>
            <dd className="min-w-0 break-words text-text">{valueText(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** A value as people write it. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length === 0 ? "–" : value.map(valueText).join(", ");
  if (typeof value !== "object") return String(value);
  const parts = Object.entries(value).map(([key, each]) => `${key}: ${valueText(each)}`);
  return parts.length === 0 ? "–" : parts.join("; ");
}

/** An action in words. An action of a newer gateway has only its name. */
export function actionText(t: ReturnType<typeof useI18n>["t"], action: string): string {
  const known = auditActions.find((each): each is AuditAction => each === action);
  return known === undefined ? action : t(`audit.did.${known}`);
}
