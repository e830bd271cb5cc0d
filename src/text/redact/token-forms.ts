/**
 * Patterns of tokens that their issuers mark, grouped by issuer. The sources are the public rules of gitleaks and the
 * issuers' own documentation. A pattern begins with text that is always the same, possibly after a space. Its repetitions
 * have a fixed length or end the token, so that a match that fails has read no more than the token's minimum length.
 */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  repositories: [
    'gh[oprsu]_[A-Za-z0-9]{20,}',
    'github_pat_\\w{20,}',
    'gl(?:pat|cbt|dt|ffct|ft|imt|agent|oas|ptt|rt|soat|rtr|wt)-[\\w.-]{20,}',
    'GR1348941[\\w-]{20,}',
    'ATATT3[\\w=-]{20,}',
    'ATCTT3[\\w=-]{20,}',
    'ATBB[A-Za-z0-9]{24,}',
    'sgp_[A-Za-z0-9_]{40,}',
  ],
  registries: [
    'npm_[A-Za-z0-9]{30,}',
    'pypi-AgE[\\w-]{30,}',
    'rubygems_[a-f0-9]{40,}',
    'CLOJARS_[A-Za-z0-9]{50,}',
    'oy2[a-z0-9]{43}',
    'AKCp[A-Za-z0-9]{60,}',
    'cmVmd[A-Za-z0-9]{50,}',
    'dckr_(?:pat|oat)_[\\w-]{20,}',
    'cio[A-Za-z0-9]{32,}',
  ],
  clouds: [
    'A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])',
    'ABSK[A-Za-z0-9+/]{60,}={0,2}',
    'IQoJb3JpZ2luX2Vj[A-Za-z0-9+/%]{60,}={0,2}',
    'bedrock-api-key-[A-Za-z0-9+/=]{20,}',
    'AIza[\\w-]{35}',
    'AQ\\.[A-Za-z0-9_-]{40,}',
    'Q~ [A-Za-z0-9_~.]{3}\\dQ~[\\w~.-]{31,34}',
    'AZDO [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])',
    'JQQJ99 [A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}(?![A-Za-z0-9])',
    'GOCSPX-[\\w-]{20,}',
    'ya29\\.[\\w.-]{20,}',
    '1//0[\\w-]{40,}',
    'LTAI[A-Za-z0-9]{16,}',
    'AKID[A-Za-z0-9]{32,}',
    'do[oprt]_v1_[a-f0-9]{40,}',
    'v1\\.0-[a-f0-9]{24}-[a-f0-9]{60,}',
    'HRKU-[\\w-]{30,}',
    'fo1_[\\w-]{40,}',
    'fm(?:1[ar]|2)_[\\w+/]{40,}={0,3}',
    'tk-us-[\\w-]{40,}',
    'nf[pc]_[A-Za-z0-9]{36,}',
    'vcp_[A-Za-z0-9]{24,}',
    'vercel_blob_rw_\\w{30,}',
    'rnd_[A-Za-z0-9]{28,}',
    'sha256~[\\w-]{43}',
    'ocp_[A-Za-z0-9]{30,}',
    'dapi[a-f0-9]{32}(?:-\\d)?',
    'AQVN[\\w-]{35,}',
    'YC[A-Za-z0-9_-]{38}(?![\\w-])',
    't1\\.[A-Za-z0-9_-]{20,}={0,2}\\.[\\w-]{60,}={0,2}',
    'pul-[a-f0-9]{40}',
    'pnu_[A-Za-z0-9]{30,}',
    'hv[bsr]\\.[\\w-]{20,}',
    's\\.(?=[A-Za-z]{0,23}\\d)[A-Za-z0-9]{24}(?![\\w.-])',
    '.atlasv1. [A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{40,}',
    'ico-[A-Za-z0-9]{32}',
    'SCW[A-Z0-9]{17}(?![A-Z0-9])',
    'glc_[A-Za-z0-9+/]{30,}={0,3}',
    'glsa_\\w{30,}',
    'eyJrIjoi[A-Za-z0-9]{40,}={0,3}',
  ],
  databases: [
    'pscale_(?:tkn|oauth|pw)_[\\w=.-]{30,}',
    '4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])',
    'sb(?:p|_secret|_publishable)_[\\w-]{20,}',
    'napi_[a-z0-9]{40,}',
    'mdb_sa_(?:id|sk)_[\\w-]{20,}',
    'xau_[A-Za-z0-9]{24,}',
    'AstraCS:[A-Za-z0-9]{20,}(?::[a-f0-9]{40,})?',
    'fn[A-Z][A-Za-z0-9_-]{38}(?![\\w-])',
  ],
  chats: [
    'xox[abceprs](?:\\.xox[bp])?-[A-Za-z0-9-]{10,}',
    'xoxo-\\d[A-Za-z0-9-]{9,}',
    'xoxd-[\\w%+/=-]{20,}',
    'xapp-[A-Za-z0-9-]{10,}',
    'xwfp-[A-Za-z0-9-]{10,}',
    ':AA \\d{8,10}:AA[\\w-]{32,}',
    '. [MNO][A-Za-z0-9_-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,}',
    'EAA[A-Za-z0-9]{60,}',
    'ntn_[A-Za-z0-9]{40,}',
    'secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])',
    'lin_(?:api|oauth)_[A-Za-z0-9]{30,}',
    'sk\\.eyJ[\\w-]{30,}\\.[\\w-]{20,}',
    'CFPAT-[\\w-]{40,}',
    'figd_[\\w-]{30,}',
    'fio-u-[\\w=-]{40,}',
    'tfp_[\\w.=-]{40,}',
  ],
  payments: [
    '_ [rsp]k_(?:org_)?(?:live|test|prod)_\\w{10,}',
    'whsec_[A-Za-z0-9+/]{24,}={0,2}',
    'EAAA[\\w-]{22,}',
    'sq0(?:atp|csp|idp)-[\\w-]{22,}',
    'FLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?',
    'shippo_(?:live|test)_[A-Fa-f0-9]{30,}',
    'shp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{32}',
    'EZ[AT]K[A-Za-z0-9]{50,}',
    'duffel_(?:test|live)_[\\w=-]{30,}',
    'rzp_(?:live|test)_[A-Za-z0-9]{14,}',
    'access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}',
    '_ (?:live|test)_(?:pub_)?[a-f0-9]{31,}',
    'access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  ],
  models: [
    'sk-ant-[\\w-]{20,}',
    '. [a-f0-9]{32}\\.(?=[A-Za-z]{0,15}\\d)[A-Za-z0-9]{16}(?![\\w.-])',
    'pa-(?=[\\w-]{0,40}\\d)(?=[\\w-]{0,40}[A-Z])[\\w-]{43}(?![\\w-])',
    'key_[a-f0-9]{64}(?![a-f0-9])',
    'hf_[A-Za-z0-9]{30,}',
    'api_org_[A-Za-z]{30,}',
    'pplx-[A-Za-z0-9]{40,}',
    'gsk_[A-Za-z0-9]{40,}',
    'xai-[A-Za-z0-9]{40,}',
    'r8_[A-Za-z0-9]{30,}',
    'nvapi-[\\w-]{40,}',
    'tgp_v1_[\\w-]{30,}',
    'fw_[A-Za-z0-9]{22,}(?![A-Za-z0-9_])',
    'lsv2_(?:pt|sk)_[a-f0-9]{30,}_[a-f0-9]{8,}',
    'pcsk_[A-Za-z0-9_]{40,}',
    'csk-[a-z0-9]{40,}',
    'sk_[a-f0-9]{48}(?![A-Za-z0-9])',
    'wandb_v1_[\\w-]{30,}',
    'jina_[\\w-]{40,}',
    'tvly-(?:dev-)?[A-Za-z0-9]{20,}',
    'fc-[a-f0-9]{32}(?![\\w-])',
    'ctx7sk-[\\w-]{30,}',
  ],
  mail: [
    'SG\\.[\\w-]{16,}\\.[\\w-]{30,}',
    'xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}',
    'xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}',
    'key- (?:pub)?key-[a-f0-9]{32}(?![a-f0-9])',
    '-us [a-f0-9]{32}-us\\d{1,2}(?!\\d)',
    '- [a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![a-f0-9-])',
    'mlsn\\.[a-f0-9]{40,}',
    're_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}',
    'SK[0-9a-f]{32}(?![0-9a-f])',
    'AC[0-9a-f]{32}(?![0-9a-f])',
  ],
  tools: [
    'A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4}(?![A-Z0-9])',
    'ops_eyJ[\\w+/-]{60,}={0,3}',
    'AGE-SECRET-KEY-1[A-Z0-9]{50,}',
    'aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])',
    // private keys in base64, as in Kubernetes files and CI settings
    'LS0tLS1CRUdJTiB(?:QUklWQVRFIEtFWS|SU0EgUFJJVkFURSBLRVkt|FQyBQUklWQVRFIEtFWS|PUEVOU1NIIFBSSVZBVEUgS0VZ|FTkNSWVBURUQgUFJJVkFURSBLRVkt|EU0EgUFJJVkFURSBLRVkt)[A-Za-z0-9+/]{20,}={0,2}',
    'p8e-[A-Za-z0-9]{32}',
    'pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}',
    'dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9._-]{30,}',
    'dt0[a-z]\\d{2}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{60,}',
    'at. [ps]at\\.[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}',
    'PMAK-[a-f0-9]{24}-[a-f0-9]{30,}',
    'PMAT-[A-Z0-9]{26}',
    'API-[A-Z0-9]{25,}',
    'rdme_[a-z0-9]{60,}',
    'sntry[su]_[\\w+/=-]{40,}',
    'sm_(?:aat|pat|sat)_[A-Za-z0-9]{16,}',
    'sq[apu]_[a-f0-9]{40}',
    'dnkey-[\\w=-]{26}-[\\w=-]{40,}',
    'NR(?:AK|II|JS|RA|AA|AL)-[A-Za-z0-9-]{19,}',
    'phc_[A-Za-z0-9]{40,}',
    'phx_[A-Za-z0-9]{40,}',
    '_mmk [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk',
    'sl\\.[\\w=-]{60,}',
    's-s4t2(?:ud|af)-[a-f0-9]{64}',
    'CCIPAT_[A-Za-z0-9]{20,}_[a-f0-9]{30,}',
    'bkua_[a-f0-9]{40}',
    'tskey-[a-z]{3,9}-[\\w-]{16,}',
    'cal_(?:live_)?[a-f0-9]{32}',
    'sdk-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  ],
};

interface TokenForm {
  /** Text that each token of the form contains. */
  readonly mark: string;
  /** Source of a regular expression. A token begins where a word does; in the middle of a word, the form is not one. */
  readonly pattern: string;
}

let forms: readonly TokenForm[] | undefined;

/** Returns the forms of tokens, created when a text is first searched: most tool calls have no text for it. */
export function tokenForms(): readonly TokenForm[] {
  forms ??= Object.values(FORMS)
    .flat()
    .map((entry) => {
      const space = entry.indexOf(' ');
      const pattern = entry.slice(space + 1);
      const begin = /^(?:[\w-]|\\\.)+(?![{?*+])/.exec(pattern)?.[0] ?? '';
      const mark = space === -1 ? begin.replaceAll('\\', '') : entry.slice(0, space);
      return { mark, pattern: `(?<![A-Za-z0-9_])${pattern}` };
    });
  return forms;
}
