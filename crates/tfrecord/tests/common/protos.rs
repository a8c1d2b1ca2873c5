//! The messages of `example.proto` and `feature.proto` for `prost`.

use std::collections::HashMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct BytesList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub value: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FloatList {
    #[prost(float, repeated, tag = "1")]
    pub value: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Int64List {
    #[prost(int64, repeated, tag = "1")]
    pub value: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    #[prost(message, tag = "1")]
    Bytes(BytesList),
    #[prost(message, tag = "2")]
    Float(FloatList),
    #[prost(message, tag = "3")]
    Int64(Int64List),
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoFeature {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoFeatures {
    #[prost(map = "string, message", tag = "1")]
    pub feature: HashMap<String, ProtoFeature>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Example {
    #[prost(message, optional, tag = "1")]
    pub features: Option<ProtoFeatures>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FeatureList {
    #[prost(message, repeated, tag = "1")]
    pub feature: Vec<ProtoFeature>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FeatureLists {
    #[prost(map = "string, message", tag = "1")]
    pub feature_list: HashMap<String, FeatureList>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SequenceExample {
    #[prost(message, optional, tag = "1")]
    pub context: Option<ProtoFeatures>,
    #[prost(message, optional, tag = "2")]
    pub feature_lists: Option<FeatureLists>,
}
