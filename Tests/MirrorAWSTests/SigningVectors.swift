// Requests with known signatures: the worked examples of the S3 API Reference, and odd keys computed by two signers.

struct SigningVector: Sendable, CustomStringConvertible {
  let name: String
  var method = "GET"
  /// Nil: the path is given as it is.
  var key: String?
  let path: String
  var query: [(String, String)] = []
  let headers: [(String, String)]
  var payload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  var token: String?
  let region: String
  let timestamp: Int64
  let canonicalHash: String
  let signature: String
  var description: String { name }

  static let accessKeyID = "AKIAIOSFODNN7EXAMPLE"
  static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

  static let all: [SigningVector] = [
    SigningVector(
      name: "s3-doc-get-object-range",
      key: "test.txt",
      path: "/test.txt",
      headers: [
        ("host", "examplebucket.s3.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20130524T000000Z"), ("range", "bytes=0-9"),
      ],
      region: "us-east-1",
      timestamp: 1369353600,
      canonicalHash: "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    SigningVector(
      name: "s3-doc-put-object",
      method: "PUT",
      key: "test$file.text",
      path: "/test%24file.text",
      headers: [
        ("host", "examplebucket.s3.amazonaws.com"), ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
        ("x-amz-date", "20130524T000000Z"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
      ],
      payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      region: "us-east-1",
      timestamp: 1369353600,
      canonicalHash: "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    SigningVector(
      name: "s3-doc-get-bucket-lifecycle",
      path: "/",
      query: [("lifecycle", "")],
      headers: [
        ("host", "examplebucket.s3.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20130524T000000Z"),
      ],
      region: "us-east-1",
      timestamp: 1369353600,
      canonicalHash: "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    SigningVector(
      name: "s3-doc-list-objects",
      path: "/",
      query: [("max-keys", "2"), ("prefix", "J")],
      headers: [
        ("host", "examplebucket.s3.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20130524T000000Z"),
      ],
      region: "us-east-1",
      timestamp: 1369353600,
      canonicalHash: "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    SigningVector(
      name: "s3-doc-presigned-get",
      key: "test.txt",
      path: "/test.txt",
      query: [
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"),
        ("X-Amz-Date", "20130524T000000Z"), ("X-Amz-Expires", "86400"), ("X-Amz-SignedHeaders", "host"),
      ],
      headers: [("host", "examplebucket.s3.amazonaws.com")],
      payload: "UNSIGNED-PAYLOAD",
      region: "us-east-1",
      timestamp: 1369353600,
      canonicalHash: "3bfa292879f6447bbcda7001decf97f4a54dc650c8942174ae0a9121cf58ad04",
      signature: "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"),
    SigningVector(
      name: "derived-key-sub-delims",
      key: "a b+c&d=e;f,g:h@i$j!k*l'm(n)o",
      path: "/a%20b%2Bc%26d%3De%3Bf%2Cg%3Ah%40i%24j%21k%2Al%27m%28n%29o",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "71d95af0505a0f53f198825e038dd06d4a0ff738752cd54f31efccda64fb711e",
      signature: "187ce7f30ae7d92ec403ee9ce6d06703e3d5318d6d0899131158faf6b33e6791"),
    SigningVector(
      name: "derived-key-query-like",
      key: "what?is#this%20literal",
      path: "/what%3Fis%23this%2520literal",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "4eca0ce0c4698958e8b142547cd32e16ad43a1c415b420fdf6543a243fd7332f",
      signature: "ea2afcdfb241ec2912e3530c276555fd254cff53a7ce67952c1ed159fec2c783"),
    SigningVector(
      name: "derived-key-utf8",
      key: "Z\u{FC}rich/\u{65E5}\u{672C}\u{8A9E}/emoji-\u{1F600}.txt",
      path: "/Z%C3%BCrich/%E6%97%A5%E6%9C%AC%E8%AA%9E/emoji-%F0%9F%98%80.txt",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "733809aa22ba428a57720ea35748ced118cb5792cbce31530bc66950e0759217",
      signature: "c2f022c87cfb9cfb0a469a688a43b39b0463fee94c05ac2dff8d9eacbe81e8c0"),
    SigningVector(
      name: "derived-key-utf8-nfd",
      key: "Zu\u{308}rich.txt",
      path: "/Zu%CC%88rich.txt",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "19fa3f82d12a3582e17400868505a034def386e6536084ff8f4177c06c8f3212",
      signature: "fea9b372c01e6944f51caf030350cc30d96a6e775c49fd752ed261e251011b25"),
    SigningVector(
      name: "derived-key-double-slash",
      key: "a//b///c",
      path: "/a//b///c",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "3680aa58c9c841788cc53f175563841272fa5ebe1f0bd2523d55285ecd2fd78c",
      signature: "663c11c31bef40dc3f711de90d1fcc7846dbeb02925acfee4fe61bac5c835b1a"),
    SigningVector(
      name: "derived-key-leading-slash",
      key: "/leading",
      path: "//leading",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "b2c2bfd38e205c9ff6c417b1eb2d79546daba34391ddf328f1b6f5ae0f42c00a",
      signature: "d7ffff0e1850f9d1e6daa9ad561ccb28c8f80c4f0239233c25153c260df1c0b1"),
    SigningVector(
      name: "derived-key-dot-segments",
      key: "a/./b/../c",
      path: "/a/./b/../c",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "e137243e16165ccab96f6da850516d3f187f7af085397b836ccde23eb6f62963",
      signature: "5f86bb58b355c17c8930b730a1386a8cbd9e65333df16f87447634e75e9cea53"),
    SigningVector(
      name: "derived-key-trailing-slash",
      key: "dir/",
      path: "/dir/",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "c655bb4e8e0484dcf4782f82689d1f3481571df6827d1596d157fc2f6e9cf5df",
      signature: "706e4556e7dbfb2c5ba1ba19ed736ce5d125190a2fd1587525817608f374a0a4"),
    SigningVector(
      name: "derived-key-control-chars",
      key: "tab\u{9}here\u{A}newline\u{7F}del\u{1}soh",
      path: "/tab%09here%0Anewline%7Fdel%01soh",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "3ea224b568ff21951117f2181dfeb8fa2528edbe1565ae22aa2831b255738726",
      signature: "fa86e657710d8eccb27482a59d0cbb6bac68ccf67e92a56c8ae50f536ba21ef8"),
    SigningVector(
      name: "derived-path-style-with-port",
      path: "/examplebucket/test.txt",
      headers: [
        ("host", "127.0.0.1:9000"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "us-east-1",
      timestamp: 1772359872,
      canonicalHash: "bd44ad881f9e2a2ad4ec096248216027b84c2cd30a0ead9f56c548aa12047f11",
      signature: "da671bc7091b74e575c802c6ebe5acd9c97ebe1b2c98fbdbc61ee102b2e241bc"),
    SigningVector(
      name: "derived-get-session-token",
      key: "test.txt",
      path: "/test.txt",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"), ("x-amz-security-token", "IQoJb3JpZ2luX2VjEXAMPLE/+=token"),
      ],
      token: "IQoJb3JpZ2luX2VjEXAMPLE/+=token",
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "7f11d89582ca000416a7187668bab7d9010d108a627294dc62f6b4c57b7ab84c",
      signature: "ea5223657d74761a25970a9aa1d552a5c32e41babdae3daf2f9377fa2aa2f696"),
    SigningVector(
      name: "derived-get-conditional-checksum",
      key: "test.txt",
      path: "/test.txt",
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"), ("if-none-match", "\"9bb58f26192e4ba00f01e2e7b136bbd8\""),
        ("range", "bytes=8388608-16777215"), ("x-amz-checksum-mode", "ENABLED"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "936415809e9a0cd321e2fb04a6b0030fdcf653fbc74b6627ddc6919aeaa69d2c",
      signature: "8a9ee20e259224df9e70e8fe39e1c23c41a707601e18b8806bbf0470bcb611c1"),
    SigningVector(
      name: "derived-head-version-requester-pays",
      method: "HEAD",
      key: "test.txt",
      path: "/test.txt",
      query: [("versionId", "3/L4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY+MTRCxf3vjVBH40Nr8X8gdRQBpUMLUo")],
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"), ("x-amz-request-payer", "requester"),
        ("x-amz-expected-bucket-owner", "111122223333"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "ca9f892b31660be7922a4ad3ae1b0b9f9071b083dacdf4a277e810dabdb59b2a",
      signature: "8d33fad36e22aa96e309ebe95cb315f48ed6e748ed31112a4221d3c2073a3502"),
    SigningVector(
      name: "derived-list-v2-delimiter",
      path: "/",
      query: [
        ("list-type", "2"), ("delimiter", "/"), ("encoding-type", "url"), ("max-keys", "1000"),
        ("prefix", "photos/2026 +\u{E9}/"), ("continuation-token", "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="),
      ],
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "3ad9e23a09ff94861a309c53d5b176bfcee12509c49625ff5b5e104fdf2db41b",
      signature: "066f069e6f8912288c9cf8497b6955464c63e283b14c06c07a0fb8052a031d2e"),
    SigningVector(
      name: "derived-list-v2-start-after",
      path: "/",
      query: [("list-type", "2"), ("prefix", ""), ("start-after", "a b+c~d/*'()"), ("fetch-owner", "true")],
      headers: [
        ("host", "examplebucket.s3.eu-central-1.amazonaws.com"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "eu-central-1",
      timestamp: 1772359872,
      canonicalHash: "d06a41d8cc2f32af4f1ee3f52b87bd5b3450e3047cf0d1a6b43e4b3382d07641",
      signature: "118c500fc3637b655c9576183ede22c62f929d25d554801c42cbcbc53110a231"),
    SigningVector(
      name: "derived-query-order-byte",
      path: "/b",
      query: [("b", "1"), ("a", "2"), ("A", "3"), ("a", "1"), ("a-b", "4"), ("a0", "5")],
      headers: [
        ("host", "s3.example.test"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20260301T101112Z"),
      ],
      region: "us-east-1",
      timestamp: 1772359872,
      canonicalHash: "a711a3049efeb9f8a3963d30992f517961d9b750704c3857bf7b3f4018485b20",
      signature: "bdfc650b6730eb39b62f77d9281e743323c87ff484bc5814989d08cb805ef1c2"),
  ]
}
