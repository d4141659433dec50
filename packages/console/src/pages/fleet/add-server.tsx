/** The form for an MCP server over HTTP. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail, HttpDeviceRequest } from "@tendon/protocol";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { deviceQuery, keys } from "../../api/queries.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { AddedDevices } from "../../ui/connection-light.tsx";
import { TextField } from "../../ui/field.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { RequestForm } from "../../ui/request-form.tsx";

const empty = { alias: "", url: "", header: "" };
type Draft = Readonly<typeof empty>;
const labels = {
  alias: ["add.serverAlias", "add.serverAliasHint"],
  url: ["add.serverUrl", "add.serverUrlHint"],
  header: ["add.serverHeader", "add.serverHeaderHint"],
} as const satisfies Record<keyof Draft, readonly [Key, Key]>;

/** No event announces why a server does not answer, so its device is polled. */
const lookEveryMs = 2_000;

export function ServerSteps({ onAdded }: { readonly onAdded: (device: string) => void }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>(empty);
  const add = useMutation({
    mutationFn: (body: HttpDeviceRequest) => api<DeviceDetail>("/devices/http", { method: "POST", body }),
    onSuccess: (device) => {
      setDraft(empty);
      onAdded(device.id);
      return client.invalidateQueries({ queryKey: keys.fleets });
    },
  });
  const field = (name: keyof Draft) => ({
    label: t(labels[name][0]),
    hint: t(labels[name][1]),
    maxLength: 2_048,
    value: draft[name],
    onChange: (text: string) => setDraft({ ...draft, [name]: text }),
  });
  return (
    <div className="flex flex-col items-start gap-3">
      <RequestForm
        request={add}
        onSubmit={() => add.mutate(requestOf(draft))}
        action={t("add.serverAdd")}
        icon="plus"
      >
        <TextField {...field("alias")} required maxLength={24} />
        <TextField {...field("url")} required />
        <TextField {...field("header")} type="password" />
      </RequestForm>
      {add.data !== undefined && <AddedServer id={add.data.id} />}
      <GuideLink guide="http-devices">{t("action.guide")}</GuideLink>
    </div>
  );
}

/** Whether the server answers, and why not. */
function AddedServer({ id }: { readonly id: string }) {
  const { t } = useI18n();
  const { data } = useQuery({ ...deviceQuery(id), refetchInterval: lookEveryMs });
  const problem = data?.server?.problem;
  return (
    <>
      <AddedDevices
        waiting={t("add.serverWaiting")}
        connected={t("add.serverOnline")}
        devices={data?.online === true ? [data] : []}
      />
      {data?.online === false && typeof problem === "string" && (
        <p className="text-sm break-words text-bad">{problem}</p>
      )}
    </>
  );
}

function requestOf({ alias, url, header }: Draft): HttpDeviceRequest {
  const value = header.trim();
  return {
    alias: alias.trim(),
    url: url.trim(),
    ...(value === "" ? {} : { headers: { Authorization: value } }),
  };
}
